// A start promised to one job, and the places of other jobs that do not delay it.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "policy/kit/departures.hpp"
#include "policy/pipeline/walk.hpp"

namespace berth {

/// The shadow of a job that does not fit (Lifka, JSSPP 1995): the earliest time at which it would
/// fit if every running job left as planned and no other job started. The promise is the time; the
/// place is one of those where the job would fit then.
struct Shadow {
  JobId job;
  Ask ask;
  Instant start = kNever;
  Placement place;
};

/// Nothing if the job would not fit even when every job has left, which is a matter of health.
/// Cost: O(log running) placements, and the departures that are needed.
std::optional<Shadow> shadow_of(Walk& walk, const Departures& departures, JobId job,
                                const Ask& ask);

/// What users see of it. Its time is not known if a job without a plan is among the last to leave
/// before the promised start.
Hold hold_of(const Shadow& shadow, const Walk& walk, const Departures& departures);

/// The cluster at the promised start, without the promised job, while others pass it in one walk.
/// Looked at when it is needed first, O(GPUs) and the departures until then.
class AtStart {
 public:
  /// Requires: all outlive this; `shadow.start` stays.
  AtStart(Walk& walk, const Departures& departures, Shadow& shadow)
      : walk_(walk), departures_(departures), shadow_(shadow) {}

  /// The promised place is the one that the view shows as kept, if the job would still fit there.
  void stay_where_kept();
  /// True if this waiting job, started now, would still run at the promised start.
  bool is_outlasted_by(JobId job) const;
  /// Where such a job may go so that the promise holds: where it wants to, else beside the promised
  /// place, else where it wants to with the promised job in another place, which is its place from
  /// then on. Nothing if there is no such place. Cost: at most two placements.
  std::optional<Placement> place_beside(JobId job, const Ask& ask, Placement wanted);
  /// Such a job starts there.
  void put(const Ask& ask, const Placement& place) {
    then().put(ask, place);
    no_room_beside_.clear();
    refused_.clear();
  }

 private:
  Trial& then();
  /// Beside the promised place, now and then.
  std::optional<Placement> room_beside(JobId job, const Ask& ask);

  Walk& walk_;
  const Departures& departures_;
  Shadow& shadow_;
  std::optional<Scratch> use_;
  std::optional<Trial> then_;
  std::vector<Ask> no_room_beside_;   ///< No larger ask has room either, until something starts.
  std::map<Ask, Placement> refused_;  ///< What was wanted in vain since.
};

}  // namespace berth
