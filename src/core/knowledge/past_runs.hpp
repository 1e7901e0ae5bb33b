// How long the latest runs of each user's programs took, from which run times are learned
// (run_estimate.hpp).
//
// Each user has places of their own, so that nobody's jobs push out what is known of another's, and
// so has each program. The engine's state contains them: a restart loses nothing. A value type,
// bounded.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/outcome.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"

namespace berth {

struct PastRun {
  GpuCount gpus{0};  ///< As it asked.
  Duration ran{0};   ///< With a berth, since it began from nothing.

  bool operator==(const PastRun&) const = default;
};

struct PastProgram {
  std::uint64_t latest = 0;   ///< Number of its last run, of all runs.
  std::vector<PastRun> runs;  ///< The oldest first.
  bool is_hurt_by_suspension = false;

  bool operator==(const PastProgram&) const = default;
};

/// True for a run that shows how long its program takes: it came to its end, or to its time limit.
/// One that failed, was cancelled or lost, or ran out of memory, did not get there.
constexpr bool is_whole_run(Outcome outcome) {
  return outcome == Outcome::Done || outcome == Outcome::Timeout;
}

class PastRuns {
 public:
  static constexpr std::size_t kMostRuns = 32;       ///< Of a program.
  static constexpr std::size_t kMostPrograms = 128;  ///< Of a user.
  static constexpr std::size_t kMostUsers = 1024;

  using Programs = std::map<Fingerprint, PastProgram>;
  using Users = std::map<UserId, Programs>;

  PastRuns() = default;
  /// As of users(). Requires: is_sane(users).
  explicit PastRuns(Users users);
  static bool is_sane(const Users& users);

  /// A whole run of this user's program. The oldest run of the program, or what has not run for
  /// longest of the user's programs, or of all users, makes room.
  void add(UserId user, Fingerprint what, const PastRun& run);
  /// A run of it failed soon after it was resumed.
  void note_hurt_by_suspension(UserId user, Fingerprint what);
  bool is_hurt_by_suspension(UserId user, Fingerprint what) const;
  /// The oldest first; nothing for a program that is not known.
  std::span<const PastRun> of(UserId user, Fingerprint what) const;

  /// All there is to it, as bytes would have it.
  const Users& users() const { return users_; }

 private:
  PastProgram& program(UserId user, Fingerprint what);
  const PastProgram* find(UserId user, Fingerprint what) const;

  Users users_;
  std::uint64_t count_ = 0;  ///< Runs that were ever noted.
};

}  // namespace berth
