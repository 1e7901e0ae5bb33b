// Which of the jobs that leave before a job starts have to leave: what `must end` says.
#pragma once

#include <span>
#include <vector>

#include "core/view.hpp"

namespace berth {

/// A job that left its berth, and what it held.
struct Departure {
  JobId job;
  UserId user;
  Grant grant;
  Instant from;  ///< Since when it held that,
  Instant at;    ///< and when it left.
};

/// Of those that left, the ones without whose end this job would not fit where it starts beside
/// what was there with them, or its user would be over a limit; of several sets that would do, the
/// one of those that leave first. `left`: in order; the view: just after the start of `job`, which
/// holds its berth there. Returns: ascending. Cost: O(left x GPUs of the job).
std::vector<JobId> needed_of(std::span<const Departure> left, const ClusterView& view,
                             const Job& job);

/// The same for a job that waits on: the fewest holders whose end would make room for it
/// (what_must_end), and those of `left` that had to leave beside them. Requires: the view knows the
/// job, which waits.
std::vector<JobId> in_the_way_of(std::span<const Departure> left, const ClusterView& view,
                                 JobId job);

}  // namespace berth
