// The time of one GPU, shared by every process that queues kernels on it.
//
// A point of the clock is published by filling an unused record and swapping the word that says
// which record is current; a reader that finds the word unchanged after copying has a whole point.
// Each process computes the present from the last point (fluid.hpp), so no process has to run at a
// given moment: a late, stopped or dead process delays no other, and waiting costs a sleep.
//
// Thread-safety: lock-free between processes; in one process, calls that queue on the same GPU must
// not overlap (they share the slot's records).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "emu/state/fluid.hpp"
#include "emu/state/layout.hpp"
#include "emu/state/process.hpp"

namespace berth::emu {

/// CLOCK_MONOTONIC, the same in every process.
std::uint64_t monotonic_nanoseconds();

enum class WaitEnd { Reached, Lost };

class GpuClock {
 public:
  /// Requires: gpu < kMaxGpus.
  GpuClock(Layout& layout, std::uint32_t gpu) : layout_(layout), gpu_(layout.gpus[gpu]) {}

  /// The clock at this moment.
  ClockReading read() const;

  /// Queues kernel time behind what the slot has queued; on a MIG instance, which has some of a
  /// GPU's multiprocessors, it takes longer. Returns the virtual time of its end.
  std::uint64_t enqueue(std::uint32_t slot, std::uint64_t nanoseconds);

  /// Virtual time at which everything the slot has queued has ended.
  std::uint64_t finish_of(std::uint32_t slot) const { return gpu_.finish[slot].load(); }

  /// Sleeps until the clock has reached `target`, a finish of this process, or the GPU is lost.
  WaitEnd wait_until(std::uint64_t target);

  /// The real time at which the clock reached `target`, a virtual time in the past; nullopt when
  /// a process has queued a kernel since.
  std::optional<std::uint64_t> past_time_of(std::uint64_t target) const;

  /// Drops what the slot has queued, if `owner` still owns it; the past stays as it was.
  void end_work_of(std::uint32_t slot, ProcessKey owner);

  /// Kernel time of the slot that has run so far.
  std::uint64_t served_nanoseconds(std::uint32_t slot) const;

  /// Percent of the last second in which the GPU ran anything.
  unsigned utilisation_percent() const;

 private:
  struct Point {
    std::uint64_t word = 0;
    ClockReading reading;
    std::uint64_t sample_count = 0;
    std::array<std::uint64_t, kBusySamples> sample_real{};
    std::array<std::uint64_t, kBusySamples> sample_busy{};
  };

  /// A point and the queues that belong to it.
  struct Snapshot {
    Point point;
    std::vector<std::uint64_t> finishes;
    Pace pace;

    ClockReading at(std::uint64_t moment) const {
      return advance(point.reading, finishes, moment, pace);
    }
    std::uint64_t time_of(std::uint64_t target) const {
      return real_time_of(point.reading, finishes, target, pace);
    }
  };

  Snapshot snapshot() const;
  Point published() const;
  bool publish(const Point& point, std::uint32_t slot);
  std::vector<std::uint64_t> finishes() const;
  static std::uint64_t busy_at(const Snapshot& snapshot, std::uint64_t moment);
  static void keep_sample(Point& point);

  Layout& layout_;
  GpuState& gpu_;
};

}  // namespace berth::emu
