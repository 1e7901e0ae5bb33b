// Which jobs wait for something other than a place, by what they wait for: the ends of jobs, times,
// turns in an array. All of it follows from the jobs; the engine keeps it in step (deferral.cpp).
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/conditions.hpp"
#include "core/job.hpp"

namespace berth {

/// An array of which only so many jobs may wait for a place or run.
struct Turns {
  std::set<JobId> taken;    ///< Jobs that wait for a place or run.
  std::set<JobId> waiting;  ///< Jobs that wait for nothing but their turn.

  bool operator==(const Turns&) const = default;
};

struct Deferrals {
  std::map<JobId, std::set<JobId>> followers;  ///< By job: those that wait for its end.
  std::set<std::pair<Instant, JobId>> begins;  ///< Jobs that wait for a time, maybe not only.
  std::map<JobId, Turns> turns;                ///< By the first job of the array.
  std::map<std::pair<UserId, std::string>, JobId> keys;  ///< Conditions::unique of live jobs.

  bool operator==(const Deferrals&) const = default;

  /// Adds a job as it is. Requires: it is not in here.
  void add(const Job& job, Instant now);
  /// Removes a job, which is still as it was when it was added.
  void remove(const Job& job);
  // The same but for the ends that it waits for, which may be thousands.
  void add_beside_ends(const Job& job, Instant now);
  void remove_beside_ends(const Job& job);
  /// The job waits no more for the end of this one.
  void end_met(JobId job, JobId of);
};

/// True for a job that waits for nothing but its turn in an array.
inline bool waits_for_turn(const Job& job, Instant now) {
  const Conditions& asked = *job.spec.conditions;
  return job.state == JobState::Deferred && asked.after.empty() && asked.begin <= now;
}

}  // namespace berth
