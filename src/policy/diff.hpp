// Wanted against current: what a policy that states whom it wants to run must do to get there.
//
// Policies that repack the cluster list every job they know, best first; fill() says who gets what
// if the cluster were empty, diff() which decisions lead there.
#pragma once

#include <span>
#include <vector>

#include "core/decision.hpp"
#include "core/view.hpp"
#include "policy/policy.hpp"

namespace berth {

struct Wanted {
  JobId job;
  Placement placement;
};

/// Goes through `list` in order and gives each job that fits a place on the emptied cluster. With a
/// fungible placer and whole GPUs, jobs that run stay where they are. Cost: O(list + running).
std::vector<Wanted> fill(const ClusterView& view, std::span<const JobId> list,
                         const Placer& placer);

/// Preempts who is not wanted, moves who is wanted elsewhere, starts who is wanted and fits now.
/// The starts that must wait for memory to be released follow in the pass that the release causes.
Decisions diff(const ClusterView& view, std::span<const Wanted> wanted, PreemptHow how);

}  // namespace berth
