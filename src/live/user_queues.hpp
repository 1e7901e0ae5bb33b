// The number of unended jobs of each user, so that no user fills the queue for all.
//
// Ends are not followed, so a figure is never too small; it is counted again when it matters, at
// most once a second. Belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <map>

#include "core/error.hpp"
#include "core/view.hpp"

namespace berth::live {

class UserQueues {
 public:
  /// `most`: of one user; 0 for no limit.
  explicit UserQueues(std::int64_t most) : most_(most) {}

  /// So many more of this user. Errors: Conflict naming the user and the limit. O(jobs) where it
  /// counts.
  Expected<void> take(const ClusterView& view, UserId user, Instant now, std::int64_t jobs = 1);

 private:
  struct Known {
    std::int64_t jobs = 0;
    Instant counted;
  };

  std::int64_t most_;
  std::map<UserId, Known> users_;
};

}  // namespace berth::live
