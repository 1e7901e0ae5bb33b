// Expected run times from the run times of past jobs: the rolling estimator of Helios (Hu et al.,
// SC 2021), in integers.
//
// There is a mean over the runs of each of these groups: same program and GPUs, same program, same
// user and GPUs, same user, same GPUs, all. The first group with a run gives the estimate. A mean
// is over all runs up to 32 and moves by a 32nd of the difference from then on. A value type,
// bounded: the means not renewed for longest are forgotten.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/time.hpp"

namespace berth {

/// The group keys of a run. Program 0 is unknown.
struct RunTraits {
  std::int64_t user = 0;
  std::int64_t program = 0;
  std::int64_t gpus = 0;
  auto operator<=>(const RunTraits&) const = default;
};

class RunHistory {
 public:
  static constexpr Duration kLongestRun = hours(24) * 365 * 150;

  /// A job like this ended after `ran`, of which kLongestRun counts at most.
  void learn(const RunTraits& job, Duration ran);
  /// What one like this is expected to run for; kForever if nothing has ended yet.
  Duration expected(const RunTraits& job) const;

  /// Of a user's program, or -1 for any user or any number of GPUs, 0 for any program.
  using Kind = RunTraits;
  struct Mean {
    Duration run{0};
    std::int64_t times = 0;
    std::int64_t latest = 0;  ///< Of all lessons.
  };
  /// All there is to it, as bytes would have it.
  struct Memory {
    std::int64_t lessons = 0;
    std::map<Kind, Mean> means;
  };

  const Memory& memory() const { return memory_; }
  /// Whether a history could be so.
  static bool is_sane(const Memory& memory);
  /// Requires: is_sane(memory).
  void remember(Memory memory);

 private:
  void forget_the_oldest();

  Memory memory_;
  std::set<std::pair<std::int64_t, Kind>> by_age_;  ///< Of the means, by their latest lesson.
};

inline auto members(RunTraits& v) { return std::tie(v.user, v.program, v.gpus); }
inline auto members(RunHistory::Mean& v) { return std::tie(v.run, v.times, v.latest); }
inline auto members(RunHistory::Memory& v) { return std::tie(v.lessons, v.means); }

}  // namespace berth
