// Displaced jobs in a walk: each is walked at its rank as if it waited already, so that no job
// behind it is given what it would take back at once.
//
// Lives for one pass; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>

#include "policy/pipeline/walk.hpp"

namespace berth {

/// A job that is stopped to wait again.
struct Returning {
  enum class Stops : std::uint8_t { Already, Now, Never };
  Lane lane;    ///< Of this job alone.
  Stops stops;  ///< Since an earlier pass; displaced in this one; or spared in the end.

  JobId job() const { return lane.jobs.begin()->job; }
};

class ReturningJobs {
 public:
  explicit ReturningJobs(Walk& walk) : walk_(walk) {}

  /// From the next join() on it is in the walk.
  void add(JobId job, Returning::Stops stops);
  void join() {
    for (; joined_ < jobs_.size(); ++joined_) walk_.add(jobs_[joined_].lane);
  }
  /// Requires: it was added.
  Returning& of(JobId job) { return *by_job_.at(job); }
  /// Decides that those displaced in this pass stop, or move to what they are promised, in the
  /// order in which they were added.
  void stop(std::span<const Hold> promised);

 private:
  Walk& walk_;
  std::deque<Returning> jobs_;
  std::map<JobId, Returning*> by_job_;
  std::size_t joined_ = 0;
};

}  // namespace berth
