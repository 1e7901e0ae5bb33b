// The number of unended jobs of each user, so that no user fills the queue for all.
//
// Ends are not followed, so a figure is never too small; it is counted again when it matters, at
// most once a second, in slices. Belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "core/error.hpp"
#include "core/view.hpp"

namespace berth::live {

class UserQueues {
 public:
  /// `most`: of one user; 0 for no limit.
  explicit UserQueues(std::int64_t most) : most_(most) {}

  /// Counts what is there, before anything is taken. O(jobs).
  void count_all(const ClusterView& view);
  /// True if take() could refuse these for jobs that have ended since: count() first.
  bool may_have_fewer(UserId user, Instant now, std::int64_t jobs = 1) const;
  /// A count of one user's jobs that is under way.
  struct Count {
    UserId user;
    Instant began;
    JobId next = {};  ///< To be looked at.
    std::int64_t jobs = 0;
  };
  /// A slice of it. Returns: whether there is more.
  bool count(Count& under_way, const ClusterView& view, const std::function<bool()>& has_time);
  /// So many more of this user. Errors: Conflict naming the user and the limit.
  Expected<void> take(UserId user, Instant now, std::int64_t jobs = 1);

 private:
  struct Known {
    std::int64_t jobs = 0;
    std::int64_t since = 0;    ///< Of these, taken since a count began.
    Instant counted = kStart;  ///< Or taken: what was taken last may not be there yet.
  };

  std::int64_t most_;
  std::map<UserId, Known> users_;
};

}  // namespace berth::live
