// Places kept for waiting jobs: which are still good, and what outlasts their start.
#pragma once

#include <span>
#include <vector>

#include "core/view.hpp"
#include "policy/kit/tally.hpp"
#include "policy/kit/timeline.hpp"

namespace berth {

/// True if the job still waits, asks for the same and may have it, and the GPUs are in health.
bool is_usable(const Hold& hold, const ClusterView& view, const Tally& tally);
/// False if foreign use or grown neighbours have made one of its GPUs too small for the job.
/// Requires: what outlasts its start is counted.
bool can_still_serve(const Hold& hold, const ClusterView& view);

/// By hold, the jobs with a berth on a GPU of its place, or on a node of it, ascending. Requires:
/// 64 holds at most. Cost: O(nodes + running).
std::vector<std::vector<JobId>> occupants_of(std::span<const Hold> holds, const ClusterView& view);

/// Counts what will still be there when the hold begins: everything but the grants it awaits and
/// those that end by then by an enforced limit. `started` is given out in this pass.
void count_outlasting(Hold& hold, std::span<const JobId> occupants, const ClusterView& view,
                      std::span<const Fresh> started);
/// Counts one more grant that runs for `planned` from now on, if it outlasts the hold's start.
void count_if_outlasting(Hold& hold, const Grant& grant, Duration planned, Instant now);

/// True if the grant is on a GPU of the place, or on a node of it whose cores or memory count.
bool touches(const Hold& hold, const Grant& grant, const Cluster& cluster);

}  // namespace berth
