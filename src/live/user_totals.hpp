// What the unended jobs of each user take of what is there for all: their number, the jobs that
// they wait for, and the bytes of their commands and environments in the journal. So no user fills
// queue, memory or disk for all.
//
// What the journal keeps once counts once: environments that are equal and came close to one
// another, the command of an array. Ends are not followed, so a figure is never too small; a user's
// is counted again in slices where it matters and something has ended since. Belongs to the
// engine's thread, which all places end on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/limits.hpp"
#include "core/base/units.hpp"
#include "live/keeper.hpp"

namespace berth::live {

class UserTotals {
 public:
  /// Of one user; 0 for no limit.
  struct Most {
    std::int64_t jobs = 0;
    Bytes bytes{0};
    std::int64_t after = limits::kMostDependenciesOfUser;
  };
  explicit UserTotals(Most most) : most_(most) {}

  /// Counts what is there; reads the command of every job where bytes have a limit.
  void count_all(const Keeper& keeper);
  /// True if take() would refuse this, maybe for jobs that have ended since: count() first.
  bool may_have_less(const Keeper& keeper, const Submission& submission) const;

  /// Of one command in the journal.
  struct Cost {
    Bytes size{0};
    std::vector<BlobId> words;  ///< Blobs that it refers to: its environment first.
  };
  /// Figures of a user.
  struct Sums {
    std::int64_t jobs = 0;
    std::int64_t after = 0;
    Bytes bytes{0};
    std::map<BlobId, Bytes> words;    ///< Those that are counted.
    std::map<BlobId, Cost> commands;  ///< Those of jobs that were there at the count.
  };
  /// A count of one user's jobs that is under way.
  struct Count {
    UserId user;
    JobId next = {};  ///< To be looked at.
    std::uint64_t ended = 0;
    Sums fresh = {};
  };
  /// A slice of it. Returns: whether there is more.
  bool count(Count& under_way, const Keeper& keeper, const std::function<bool()>& has_time);
  /// This one more; it counts as coming while the submission lives. Errors: Conflict naming the
  /// user, the figures and the limit.
  Expected<void> take(const Keeper& keeper, Submission& submission);

 private:
  /// What was taken and may not be in the engine yet.
  struct Coming {
    std::int64_t jobs = 0;
    std::int64_t after = 0;
    Bytes bytes{0};
    bool has_changed = false;  ///< Since a count began: some of it came, or does not come.
  };
  struct Known {
    Sums sums;
    std::shared_ptr<Coming> coming = std::make_shared<Coming>();
    std::uint64_t ended = 0;  ///< Of Keeper::ended(), at the last count.
  };

  static Cost cost_of(const Keeper& keeper, BlobId command);
  void add(const Keeper& keeper, Sums& fresh, const Sums& before, const JobSpec& spec) const;
  static void add_command(const Keeper& keeper, Sums& fresh, const Sums& before, BlobId command);
  static Bytes all_of(const Submission& submission);
  static Bytes more_by(const Keeper& keeper, const Known* known, const Submission& submission);
  std::string why_not(const Keeper& keeper, const Known* known, const Submission& submission) const;

  Most most_;
  std::map<UserId, Known> users_;
};

}  // namespace berth::live
