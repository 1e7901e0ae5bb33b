// The jobs that a submission is to wait for, found in slices: an array stands for all its jobs, and
// a task for one of them.
//
// The number of jobs is bounded before any of them is looked for, and so is what is looked at.
// Reads what it is given; belongs to the engine's thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/conditions.hpp"
#include "live/keeper.hpp"

namespace berth::daemon {

/// A job that there is, or was.
struct JobFound {
  JobId job;
  ArrayPlace array;
  std::optional<Outcome> ended;  ///< How it ended, if the engine knows it no more.
};

/// Those with numbers from the first to the last, ascending. Errors: as Store::jobs_between().
using FindJobs = std::function<Expected<std::vector<JobFound>>(JobId first, JobId last)>;
/// In the engine, and those that have ended in the journal. Requires: `keeper` outlives it.
FindJobs find_jobs_of(const live::Keeper& keeper);

/// A job of an array that only the task of its number is to wait for.
struct Counterpart {
  JobId array;
  std::int64_t task = 0;
  Dependency on;
};
/// Adds those that tasks of the job wait for. Errors: InvalidArgument naming the task that has none
/// in an array, or the array if the job is of none itself.
Expected<void> add_counterparts(live::Submission& job, const std::vector<Counterpart>& found);

class AfterSearch {
 public:
  AfterSearch(const std::vector<live::AfterTask>& asked, FindJobs find);

  /// Goes on for as long as `has_time()`, by one step at least. Returns: whether there is more.
  /// Errors: InvalidArgument naming the job that there is not, how many there are and the most, or
  /// the job that has ended so that its condition can never be met.
  Expected<bool> advance(const std::function<bool()>& has_time);
  /// By the numbers of the jobs asked for. Requires: advance() has returned false.
  std::vector<Dependency> take() { return std::move(found_); }
  /// Requires: advance() has returned false.
  const std::vector<Counterpart>& counterparts() const { return counterparts_; }

 private:
  /// What is asked of one job, or of one array.
  struct Group {
    JobId first;
    JobId array = {};  ///< The same, if it is one.
    std::vector<After> whole;
    std::vector<After> by_number;              ///< All its jobs, each for another task.
    std::multimap<std::int64_t, After> tasks;  ///< Not found yet.
    JobFound known = {};
    std::int64_t jobs = 1;
    std::int64_t next = 0;  ///< Of these, the first that was not looked at.
    std::optional<std::set<std::int64_t>> guesses = {};  ///< Where tasks may be.
  };

  Expected<void> count(Group& group);
  Expected<void> look(Group& group, std::int64_t from, std::int64_t to);
  static std::set<std::int64_t> guesses(const Group& group);
  static bool is_of_all(const Group& group) {
    return !group.whole.empty() || !group.by_number.empty();
  }
  Expected<bool> look_where_guessed(Group& group);
  Expected<bool> go_on(Group& group);
  void add(Group& group, const JobFound& job);
  Expected<void> check_possible() const;

  FindJobs find_;
  std::vector<Group> groups_;
  std::size_t counted_ = 0;
  std::size_t at_ = 0;
  std::size_t all_ = 0;     ///< Jobs to wait for.
  std::size_t looked_ = 0;  ///< Jobs of arrays that were gone through for tasks.
  std::vector<Dependency> found_;
  std::vector<Counterpart> counterparts_;
  std::map<JobId, ArrayPlace> ended_;  ///< Those of the found that have, for their handles.
};

}  // namespace berth::daemon
