// When a job could start, if nothing new started: the earliest time and the place, from planned
// ends.
//
// The occupants leave in the order of their planned ends; those without a plan leave last, at no
// known time. The place is found with the policy's own placer, so it is one the job would take.
#pragma once

#include <optional>
#include <span>

#include "core/trial.hpp"
#include "core/view.hpp"
#include "policy/policy.hpp"

namespace berth {

struct Earliest {
  Placement placement;
  std::size_t gone = 0;    ///< How many have left by then, of the list it was found with.
  std::uint64_t last = 0;  ///< The number of the last grant waited for.
  Instant from = kNever;   ///< kNever: some occupant in the way has no planned end.
};

/// A berth given in this pass, which the view does not show yet.
struct Fresh {
  Duration planned;  ///< Run time to come; kForever without a plan.
  Grant grant;
  JobId job;
};

/// An occupant and when it is taken to leave.
struct Leaving {
  Instant at;
  std::uint64_t grant_number;
  const Grant* grant;
  bool is_sure = false;  ///< An enforced limit says so.
};

/// A job that looks for a place.
struct Seeker {
  JobId job;
  const Ask& ask;
};

/// The same over any occupants, in the order in which they leave; whoever is not listed stays.
std::optional<Earliest> earliest_start(const Seeker& seeker, const Placer& placer,
                                       std::span<const Leaving> leaving, std::span<const Hold> kept,
                                       Trial& trial);

/// Returns: nothing if the job does not fit even when every occupant has left (a matter of health).
/// `kept` are holds that stand before this one, `fresh` what the trial has beside the view. The
/// trial is left as it was. Cost: O(running log running) and O(log running) placements.
std::optional<Earliest> earliest_start(JobId job, const Ask& ask, const ClusterView& view,
                                       const Placer& placer, std::span<const Hold> kept,
                                       std::span<const Fresh> fresh, Trial& trial);

/// The planned end of a job with a berth; kNever without limit or estimate, now for one stopping.
Instant planned_end(const JobView& job, Instant now);

}  // namespace berth
