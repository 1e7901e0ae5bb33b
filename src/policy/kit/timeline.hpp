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
  std::size_t gone = 0;   ///< Number of occupants of the list that have left by then.
  Instant from = kNever;  ///< When the last of them leaves; kNever if none need leave.
};

/// A berth given in this pass, which the view does not show yet.
struct Fresh {
  Duration planned;  ///< Run time to come; kForever without a plan.
  Grant grant;
  JobId job;
};

/// An occupant and when it is assumed to leave.
struct Leaving {
  Instant at;
  std::uint64_t grant_number;
  const Grant* grant;
};

/// A job that looks for a place.
struct Seeker {
  JobId job;
  const Ask& ask;
};

/// The planned end of a job with a berth; kNever without limit or estimate, now for one stopping.
inline Instant planned_end(const JobView& job, Instant now) {
  return job.state() == JobState::Stopping ? now : later(now, job.planned());
}

/// The earliest departure of `leaving`, in the order in which they leave, after which the job fits
/// beside every occupant that is not listed; nothing if it does not fit even then (because of
/// health). The trial is unchanged. Cost: O(log leaving) placements, and as many departures as are
/// needed, twice.
std::optional<Earliest> earliest_start(const Seeker& seeker, const Placer& placer,
                                       std::span<const Leaving> leaving, Trial& trial);

}  // namespace berth
