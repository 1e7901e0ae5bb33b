// The GPUs of one node that are closest to each other.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "core/cluster.hpp"

namespace berth {

/// How far apart some GPUs of a node are: the farthest two first, because all wait for them, then
/// all pairs. Smaller is closer; of one GPU, zero.
struct Closeness {
  std::uint32_t farthest = 0;
  std::uint32_t sum = 0;

  auto operator<=>(const Closeness&) const = default;
};

Closeness closeness_of(const Cluster& cluster, std::span<const GpuId> gpus);

/// `count` of `open` that are closest together with all of `sure`; of equally close ones those that
/// are farthest from the rest of `open`, so that what is left is close, too; then the first. All
/// are of one node. The search is complete for up to 16 GPUs; beyond that it ends with the best of
/// what it tried. Requires: `open` has so many, and is ascending.
std::vector<GpuId> closest_of(const Cluster& cluster, std::span<const GpuId> sure,
                              std::span<const GpuId> open, std::uint32_t count);

}  // namespace berth
