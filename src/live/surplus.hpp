// GPU memory that jobs hold beyond what they were granted, and the jobs that wait for it.
//
// Where there is room, a charge grows with what a job holds: nobody is hurt, and the surplus is
// granted to nobody else. Pure functions over the engine's state.
#pragma once

#include <vector>

#include "core/base/units.hpp"
#include "engine/engine.hpp"

namespace berth::live {

/// What a tenant holds beyond its grant; zero for what rounding may explain.
Bytes surplus_on(const Share& share);
/// Of a job with a berth, on the GPU where that is most.
Bytes surplus_of(const Job& job);

/// A surplus without which a waiting job would have a place.
struct WantedSurplus {
  JobId holder;
  Attempt attempt;
  GpuId gpu;
  Bytes held{0};
  Bytes granted{0};
  JobId wanted_by;  ///< The first of them.
};

/// At most one for each running job, ascending. Only jobs that wait for room count, within a node,
/// and of many the first. O(GPUs x kMostLookedAt), and nothing where no job has a surplus.
std::vector<WantedSurplus> wanted_surplus(const Engine& engine);

/// Waiting jobs that wanted_surplus() looks at.
inline constexpr std::size_t kMostLookedAt = 64;

}  // namespace berth::live
