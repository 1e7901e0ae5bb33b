// Whether a run makes progress: it counts how often in a row the scheduler stopped a job that had
// made no progress.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/time.hpp"

namespace berth::sim {

class Headway {
 public:
  explicit Headway(std::size_t jobs) : furthest_(jobs, Duration(0)) {}

  void note_arrival() { ++there_, vain_ = 0; }
  void note_end() { --there_, vain_ = 0; }
  /// The job was stopped to continue later, with this much of its work done.
  void note_stop(std::size_t job, Duration done) {
    if (done >= furthest_[job] + seconds(1)) {
      furthest_[job] = done;
      vain_ = 0;
      return;
    }
    ++vain_;
    const auto known = std::ranges::find(latest_, job);
    if (known != latest_.end()) latest_.erase(known);
    latest_.push_back(job);
    if (latest_.size() > kNamed) latest_.erase(latest_.begin());
  }

  /// True if jobs were stopped in vain too often since a job arrived, ended, or made progress.
  bool is_lost() const { return vain_ > kSomeStops + kStopsPerJob * there_; }
  std::size_t stops_in_vain() const { return vain_; }
  /// The latest few jobs that were stopped in vain, the last one last.
  const std::vector<std::size_t>& latest() const { return latest_; }

 private:
  static constexpr std::size_t kSomeStops = 1000;
  static constexpr std::size_t kStopsPerJob = 20;
  static constexpr std::size_t kNamed = 3;

  std::vector<Duration> furthest_;
  std::vector<std::size_t> latest_;
  std::size_t there_ = 0;  ///< Jobs that came and are not over.
  std::size_t vain_ = 0;
};

}  // namespace berth::sim
