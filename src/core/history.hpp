// The latest jobs that ended with a berth, from which policies learn as they go (past_runs.hpp has
// what run times are learned from).
//
// The engine's state contains them, so that a policy needs no memory of past jobs and a restart
// loses nothing. A value type, bounded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "core/job.hpp"

namespace berth {

struct Ended {
  JobId job;
  UserId user;
  Fingerprint what;                                      ///< 0: not known.
  GpuCount gpus{0};                                      ///< As it asked.
  DurationClass duration_class = DurationClass::Medium;  ///< As it was in the end.
  Duration ran{0};                                       ///< With a berth, all attempts together.
  GpuTime attained{0};                                   ///< Granted GPUs x time.
  Outcome outcome = Outcome::Done;
  Instant at;

  bool operator==(const Ended&) const = default;
};

class History {
 public:
  static constexpr std::size_t kMost = 1024;

  History() = default;
  /// As of record() and count(). Requires: at most kMost of them, and no more than `count`.
  History(std::vector<Ended> latest, std::uint64_t count)
      : list_(std::move(latest)), count_(count) {}

  void add(const Ended& ended) {
    if (list_.size() == 2 * kMost) list_.erase(list_.begin(), list_.begin() + kMost);
    list_.push_back(ended);
    ++count_;
  }
  /// All that ever ended with a berth.
  std::uint64_t count() const { return count_; }
  /// The latest ones, at most kMost, the oldest first.
  std::span<const Ended> record() const {
    return std::span(list_).last(std::min(list_.size(), kMost));
  }
  /// The ended jobs after the first `cursor`, the oldest first; only of the latest kMost.
  std::span<const Ended> after(std::uint64_t cursor) const {
    const std::span<const Ended> all = record();
    const std::uint64_t wanted = count_ - std::min(cursor, count_);
    return all.last(static_cast<std::size_t>(std::min<std::uint64_t>(wanted, all.size())));
  }

 private:
  std::vector<Ended> list_;  ///< At most twice kMost, so that dropping the oldest costs little.
  std::uint64_t count_ = 0;
};

}  // namespace berth
