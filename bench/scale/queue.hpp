// A queue that grows, and what it costs at each size.
//
// A berthd on two emulated GPUs whose jobs never end, so that everything submitted waits. A second
// one with a short queue takes turns with it where submits are timed: what a disk or a neighbour
// does to one it does to the other.
#pragma once

#include <memory>
#include <optional>

#include "live/bed.hpp"
#include "live/figures.hpp"
#include "live/load.hpp"
#include "live/queues.hpp"

namespace berth::bench {

class GrowingQueue {
 public:
  explicit GrowingQueue(Environments environments) : environments_(environments) {}

  /// Grows to this many jobs and measures. Requires: sizes ascend. Errors: Io, Conflict.
  Expected<Figures> at(int size);

 private:
  Expected<void> open();
  Expected<void> fill(int size, Figures& figures);
  Expected<void> measure_pages(Figures& figures);
  Expected<void> measure_submits(Figures& figures);
  Expected<void> compare_submits(const Berthd& small, int connections, Figures& figures);
  Expected<void> measure_changes(Figures& figures);
  Expected<void> measure_restart(int signal, const char* name, Figures& figures);
  void measure_memory(const char* when, Figures& figures) const;
  void measure_disk(Figures& figures) const;
  Expected<std::vector<double>> submit(const Berthd& to, int connections, int submits);
  Expected<std::vector<double>> time_requests(int times, const std::string& method,
                                              const std::string& target);

  Environments environments_;
  Bed bed_;
  std::unique_ptr<Gate> gate_;
  std::optional<Berthd> daemon_;
  int queued_ = 0;
  int serial_ = 0;  ///< Of the last submission to any daemon.
};

}  // namespace berth::bench
