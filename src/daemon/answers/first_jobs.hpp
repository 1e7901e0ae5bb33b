// The jobs that berthd looks ahead over where it knows more than it can: of every user those that
// are first in line, as many of each as there is room for: nobody's jobs keep another's out.
//
// Jobs that are held wait for a person and take no room. Found in slices: the engine takes steps
// meanwhile. Reads the engine; belongs to its thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/view.hpp"

namespace berth::daemon {

/// True for a job that comes to run by itself; those with a berth are not asked about.
bool comes_by_itself(const Job& job);

class FirstJobs {
 public:
  /// `most`: jobs that wait for a place, a time or others.
  explicit FirstJobs(std::size_t most) : most_(most) {}

  /// Looks at jobs for as long as `has_time()`, some at least. Returns: whether there are more.
  bool advance(const ClusterView& view, const std::function<bool()>& has_time);

  /// Ascending. Requires: advance() has returned false.
  std::vector<JobId> take();
  /// How many there are that wait.
  std::size_t waiting() const { return waiting_; }
  /// Whether there was no room for all of this user's. After take().
  bool leaves_out(UserId user) const { return left_out_.contains(user); }

 private:
  std::size_t most_;
  JobId next_{1};
  std::map<UserId, std::vector<JobId>> first_;  ///< Ascending; of each one more than `most_`.
  std::size_t waiting_ = 0;
  std::set<UserId> left_out_;
};

/// The jobs that these wait for, and those that they wait for in turn, with them; ascending. At
/// most about `most` of them, and what a few times as many looks find.
std::vector<JobId> with_what_they_wait_for(const ClusterView& view, std::vector<JobId> jobs,
                                           std::size_t most);

}  // namespace berth::daemon
