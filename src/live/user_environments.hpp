// What commands and environments of each user's unended jobs take in the journal, so that no user
// fills the disk for all.
//
// What the journal keeps once counts once: environments that are equal and came close to one
// another, the command of an array. Ends are not followed, so a figure is never too small; it is
// counted again when it matters, at most once a second. Belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/error.hpp"
#include "core/units.hpp"
#include "live/keeper.hpp"

namespace berth::live {

class UserEnvironments {
 public:
  /// `most`: of one user; 0 for no limit.
  explicit UserEnvironments(Bytes most) : most_(most) {}

  /// Counts what is there: reads the command of every job. Nothing to do where there is no limit.
  void count_all(const Keeper& keeper, Instant now);
  /// This one more. Errors: Conflict naming the user, the figures and the limit. O(jobs) where it
  /// counts, and a read for each of the user's jobs that have come since it was counted last.
  Expected<void> take(const Keeper& keeper, const Submission& submission, Instant now);

 private:
  /// Of one command in the journal.
  struct Cost {
    Bytes size{0};
    BlobId environment;
  };
  struct Known {
    Bytes bytes{0};
    std::map<BlobId, Bytes> environments;  ///< Those that are counted.
    std::map<BlobId, Cost> commands;       ///< As of `counted`.
    Instant counted = kStart;
  };
  static Cost cost_of(const Keeper& keeper, BlobId command);
  static void count(const Keeper& keeper, Known& known, const std::vector<BlobId>& commands,
                    Instant now);

  Bytes most_;
  std::map<UserId, Known> users_;
};

}  // namespace berth::live
