// The room that the cluster has at two times.
#pragma once

#include "core/trial.hpp"

namespace berth {

/// As `now`, but the GPUs and nodes of `kept` have only the room that they have both now and
/// `then`. Cost: O(GPUs) for the copy.
Scratch free_at_both(const Cluster& cluster, const Occupancy& now, const Occupancy& then,
                     const Placement& kept);

}  // namespace berth
