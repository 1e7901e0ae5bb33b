// When a job could start, if nothing new started: the earliest time and the place, from planned
// ends.
//
// The occupants leave in the order of their planned ends; those without a plan leave last, at no
// known time. The place is found with the policy's own placer, so it is one the job would take.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

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

/// Occupants in the order in which they leave, found as far as they are asked for.
class Leavers {
 public:
  /// `next` gives one after the other, `size` in all.
  Leavers(std::size_t size, std::function<Leaving()> next) : size_(size), next_(std::move(next)) {}

  std::size_t size() const { return size_; }
  /// Requires: place < size().
  const Leaving& at(std::size_t place) {
    BERTH_ASSERT(place < size_);
    while (found_.size() <= place) found_.push_back(next_());
    return found_[place];
  }

 private:
  std::size_t size_;
  std::function<Leaving()> next_;
  std::vector<Leaving> found_;
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

/// The earliest departure of `leaving` after which the job fits beside every occupant that is not
/// among them; nothing if it does not fit even then (because of
/// health). The trial is unchanged. Cost: O(log leaving) placements, and as many departures as are
/// needed, twice.
std::optional<Earliest> earliest_start(const Seeker& seeker, const Placer& placer, Leavers& leaving,
                                       Trial& trial);

}  // namespace berth
