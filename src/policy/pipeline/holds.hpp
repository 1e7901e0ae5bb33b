// Places kept for waiting jobs: which are still good, and what stays there beyond their start.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/view.hpp"
#include "policy/kit/tally.hpp"
#include "policy/kit/timeline.hpp"

namespace berth {

/// True if the job still waits, asks for the same and may have it, and the GPUs are in health.
bool is_usable(const Hold& hold, const ClusterView& view, const Tally& tally);
/// False if foreign use or grown neighbours have made one of its GPUs too small for the job.
/// Requires: what stays is counted.
bool can_still_serve(const KeptRoom& room, const ClusterView& view);

/// By room, the jobs with a berth on a GPU of its place, or on a node of it, ascending. Requires:
/// 64 rooms at most. Cost: O(nodes + running).
std::vector<std::vector<JobId>> occupants_of(std::span<const KeptRoom> rooms,
                                             const ClusterView& view);

/// Counts what stays beyond `until`: everything but the grants awaited, by number, ascending, and
/// those that end by then by an enforced limit. `started` is given out in this pass.
void count_staying(KeptRoom& room, std::span<const std::uint64_t> awaited,
                   std::span<const JobId> occupants, const ClusterView& view,
                   std::span<const Fresh> started);
/// Counts one more grant that runs for `planned` from now on, if it stays.
void count_if_staying(KeptRoom& room, const Grant& grant, Duration planned, Instant now);

/// True if the grant is on a GPU of the place, or on a node of it whose cores or memory count.
bool touches(const Hold& hold, const Grant& grant, const Cluster& cluster);

}  // namespace berth
