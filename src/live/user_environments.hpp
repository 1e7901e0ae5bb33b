// What commands and environments of each user's unended jobs take in the journal, so that no user
// fills the disk for all.
//
// What the journal keeps once counts once: environments that are equal and came close to one
// another, the command of an array. Ends are not followed, so a figure is never too small; it is
// counted again when it matters, at most once a second, in slices. Belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
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
  /// True if take() could refuse this for jobs that have ended since: count() first.
  bool may_have_less(const Keeper& keeper, const Submission& submission, Instant now) const;

  /// Of one command in the journal.
  struct Cost {
    Bytes size{0};
    std::vector<BlobId> words;  ///< Blobs that it refers to: its environment first.
  };
  struct Known {
    Bytes bytes{0};
    std::map<BlobId, Bytes> words;    ///< Those that are counted.
    std::map<BlobId, Cost> commands;  ///< As of `counted`.
    Bytes since{0};                   ///< Of `bytes`, taken since a count began.
    Instant counted = kStart;
  };
  /// A count of one user's jobs that is under way.
  struct Count {
    UserId user;
    Instant began;
    JobId next = {};  ///< To be looked at.
    Known fresh = {};
  };
  /// A slice of it. Returns: whether there is more.
  bool count(Count& under_way, const Keeper& keeper, const std::function<bool()>& has_time);
  /// This one more. Errors: Conflict naming the user, the figures and the limit.
  Expected<void> take(const Keeper& keeper, const Submission& submission);

 private:
  static Cost cost_of(const Keeper& keeper, BlobId command);
  static void add(const Keeper& keeper, Known& fresh, const Known& before, BlobId command);
  Bytes more_by(const Keeper& keeper, const Submission& submission) const;

  Bytes most_;
  std::map<UserId, Known> users_;
};

}  // namespace berth::live
