// Jobs that wait without a figure for their memory, or with one that is too small by now: the run
// of their program that tells it ended after they were submitted.
//
// Belongs to the engine's thread.
#pragma once

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "core/input.hpp"
#include "core/view.hpp"
#include "journal/store.hpp"

namespace berth::live {

/// The program of a job, as its memory is learned; 0 where its command cannot be read.
Fingerprint memory_program_of(const Job& job, const journal::Store& store);

class LateMemory {
 public:
  /// The peak of a whole run of a user's program was stored.
  void note(UserId user, Fingerprint what) { news_.insert_or_assign({user, what}, Bytes(0)); }
  bool is_due() const { return !news_.empty() || !to_look_at_.empty(); }
  /// Inputs of this step. Looks at some jobs and reads the command of each, 3 ms of work: to be
  /// called until nothing is due.
  std::vector<Input> take(const ClusterView& view, const journal::Store& store);

 private:
  using Programs = std::map<std::pair<UserId, Fingerprint>, Bytes>;
  void look_for_jobs(const ClusterView& view, const journal::Store& store);

  Programs news_;
  Programs known_;  ///< With what was learned, while jobs are looked at.
  std::deque<JobId> to_look_at_;
};

}  // namespace berth::live
