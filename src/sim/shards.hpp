// Fixed fractions of GPUs, as Slurm's shards or Kubernetes' time-slicing hand them out: whole ones
// only, and without a look at memory.
#pragma once

#include <cstdint>

#include "core/base/error.hpp"
#include "core/cluster.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

inline constexpr std::int64_t kMostShards = 1000;

/// Every job that states memory takes as many of a GPU's `shards` equal parts as hold it, as a
/// share of compute; a larger share that it states stays. Errors: InvalidArgument if `shards` is
/// not from 1 to kMostShards, and unless all GPUs have the same memory.
Expected<void> give_shards(trace::Trace& trace, const Cluster& cluster, std::int64_t shards);

}  // namespace berth::sim
