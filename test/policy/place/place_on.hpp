// One placement asked for one job on a scene.
#pragma once

#include <algorithm>
#include <string_view>

#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth::test {

inline Placed place_on(const Scene& scene, std::string_view place, const JobSpec& spec) {
  const auto placer = (*std::ranges::find(placers(), place, &PlacerEntry::name)).make();
  placer->prepare(scene.view(), {});
  return placer->place({.request = spec.request}, JobId(1), scene.view().trial());
}

/// A part of one GPU, and cores.
inline JobSpec part(std::int64_t milli, std::int64_t cpu) {
  JobSpec spec;
  spec.request.cpu = CpuMilli(cpu);
  spec.request.gpu = {.count = GpuCount(1), .vram = Bytes(1 << 20), .milli = GpuMilli(milli)};
  return spec;
}

/// Whole GPUs, and cores.
inline JobSpec gang(std::int64_t gpus, std::int64_t cpu) {
  JobSpec spec;
  spec.request.cpu = CpuMilli(cpu);
  spec.request.gpu = {.count = GpuCount(gpus), .sharing = Sharing::Alone};
  return spec;
}

/// Nodes of 8 GPUs and 128 cores, the largest of the authors' cluster, for their formulas.
inline Cluster largest_nodes(std::uint32_t nodes) {
  Cluster cluster;
  cluster.add_switch();
  for (std::uint32_t n = 0; n < nodes; ++n) {
    cluster.add_node({.name = "n" + std::to_string(n),
                      .gpus = 8,
                      .vram = Bytes(32LL << 30),
                      .slots = 1000,
                      .cpu = CpuMilli(128'000)});
  }
  return cluster;
}

}  // namespace berth::test
