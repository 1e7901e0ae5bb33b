// The decisions that lead from the running jobs to the jobs that a policy wants to run.
//
// Policies that repack the cluster list every job they know, best first. Repacker gives places in
// that order as if the cluster were empty, and says which decisions lead there from what is.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/decision.hpp"
#include "core/view.hpp"
#include "policy/kit/ask_kinds.hpp"
#include "policy/policy.hpp"

namespace berth {

/// True if this job takes whole GPUs of any kind and nothing else, so that only their number
/// matters.
bool only_number_matters(const Job& job);

struct Repacked {
  std::vector<bool> wanted;  ///< By position in the list: it should run now.
  Decisions decisions;
};

/// Not thread-safe.
class Repacker {
 public:
  /// Once per pass, before repack().
  void follow(const ClusterView& view, std::span<const Event> events);

  /// Preempts running jobs that are not wanted, moves jobs that are wanted elsewhere, and starts
  /// wanted jobs that fit now; starts that must wait for memory follow in the pass after its
  /// release. Jobs that must not be preempted (ClusterView) go first. With a fungible placer and
  /// whole GPUs only, running jobs stay where they are. Requires: the view knows every job of the
  /// list. Cost: O(list + running), of which all but the running is a few bytes a job, and a
  /// placement per start; without a fungible placer one per job that gets a place.
  Repacked repack(const ClusterView& view, std::span<const JobId> list, const Placer& placer);

 private:
  AskKinds kinds_;
};

/// Why a waiting job of a policy that repacks has no place: its user's limit, or `what`.
Refused waits_its_turn(JobId job, const ClusterView& view, GateWord::What what);

/// The decisions that lead to these places, one per job of the list; a job without a place is not
/// to run. As in Repacker::repack(), in the order of the list.
Decisions rearrange(const ClusterView& view, std::span<const JobId> list,
                    std::span<const std::optional<Placement>> places);
/// True if it decides nothing about this job, which holds a berth and is to be at this place, or
/// not to run if that is null.
bool stays_as_it_is(const Job& job, const Placement* place);

}  // namespace berth
