// Wanted against current: what a policy that states whom it wants to run must do to get there.
//
// Policies that repack the cluster list every job they know, best first. repack() gives places in
// that order as if the cluster were empty, and says which decisions lead there from what is.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/decision.hpp"
#include "core/view.hpp"
#include "policy/policy.hpp"

namespace berth {

/// True if this job takes whole GPUs of any kind and nothing else, so that only their number
/// matters.
bool only_number_matters(const Job& job);

struct Repacked {
  std::vector<bool> wanted;  ///< By position in the list: it should run now.
  Decisions decisions;
};

/// Preempts who is not wanted, moves who is wanted elsewhere, starts who is wanted and fits now;
/// the starts that must wait for memory to be released follow in the pass that the release causes.
/// Who is left alone (ClusterView) goes before all others. With a fungible placer and whole GPUs
/// only, whoever runs stays where it is. Requires: every job
/// of the list is known to the view. Cost: O(list + running) and a placement per start; without a
/// fungible placer one per job of the list.
Repacked repack(const ClusterView& view, std::span<const JobId> list, const Placer& placer);

/// What leads from what is to these places, one per job of the list; a job without one is not to
/// run. As repack() does it, in the order of the list.
Decisions rearrange(const ClusterView& view, std::span<const JobId> list,
                    std::span<const std::optional<Placement>> places);

}  // namespace berth
