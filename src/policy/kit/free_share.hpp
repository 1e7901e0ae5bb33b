// The free share of a GPU, and the share that an ask takes, in thousandths, for placements that
// share GPUs.
//
// Compute and memory both bind: the free share is the smaller of the two, the asked share the
// larger. In traces that state no memory only compute counts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/trial.hpp"

namespace berth {

inline constexpr std::int64_t kWholeShare = 1000;

/// Memory as thousandths of this GPU, rounded down; `more` is added before rounding.
constexpr std::int64_t thousandths(Bytes memory, const GpuSpec& gpu, Bytes more = Bytes(0)) {
  if (gpu.capacity <= Bytes(0)) return 0;
  const std::int64_t whole = gpu.capacity.raw();
  const std::int64_t rest = memory.raw() % whole * kWholeShare + more.raw();
  return memory.raw() / whole * kWholeShare + rest / whole;
}

/// The share that a new tenant may get of this GPU: 0 if it is unhealthy, has a tenant that is
/// alone or has no slot.
constexpr std::int64_t free_share(const GpuSpec& gpu, const GpuUse& use) {
  const bool closed =
      use.alone > 0 || gpu.share_mode == ShareMode::Exclusive || use.tenants >= gpu.slots;
  if (!is_usable(use) || (use.tenants > 0 && closed)) return 0;
  const std::int64_t memory = thousandths(gpu.capacity - use.foreign - use.charged, gpu);
  return std::clamp<std::int64_t>(std::min(kWholeShare - use.milli.raw(), memory), 0, kWholeShare);
}

/// The share that the ask takes of each GPU with this spec; above 1000 if it does not fit.
constexpr std::int64_t share_of(const Ask& ask, const GpuSpec& gpu) {
  if (ask.alone()) return kWholeShare;
  const std::int64_t memory = thousandths(charge_on(ask, gpu), gpu, gpu.capacity - Bytes(1));
  return std::max(ask.request.gpu.milli.raw(), memory);
}

inline std::int64_t free_share(GpuId gpu, const Trial& trial) {
  return free_share(trial.cluster().gpu(gpu), trial.use().gpu(gpu));
}

/// The sum of the free shares of a node's GPUs.
inline std::int64_t free_share(NodeId node, const Trial& trial) {
  const NodeSpec& spec = trial.cluster().node(node);
  std::int64_t sum = 0;
  for (const GpuId gpu : spec.gpu_ids()) {
    sum += free_share(gpu, trial);
  }
  return sum;
}

/// The free cores of a node.
inline CpuMilli free_cpu(NodeId node, const Trial& trial) {
  return trial.cluster().node(node).cpu - trial.use().node(node).cpu;
}

/// Thousandths of cores and of GPUs, for placements in two dimensions.
struct CpuGpu {
  std::int64_t cpu = 0;
  std::int64_t gpu = 0;
};

/// Amounts above this count as this: some cluster files say that cores are unlimited.
inline constexpr std::int64_t kMostThousandths = std::int64_t{1} << 28;

constexpr CpuGpu capped(std::int64_t cpu, std::int64_t gpu) {
  return {std::min(cpu, kMostThousandths), std::min(gpu, kMostThousandths)};
}

/// The cores and GPUs of the largest nodes, at least one thousandth each.
inline CpuGpu largest_node(const Cluster& cluster) {
  CpuMilli cpu(1);
  for (const NodeSpec& node : cluster.nodes()) cpu = std::max(cpu, node.cpu);
  return capped(cpu.raw(), std::max<std::int64_t>(1, cluster.largest_node() * kWholeShare));
}

/// The free part of a node.
inline CpuGpu left_of(NodeId node, const Trial& trial) {
  return capped(free_cpu(node, trial).raw(), free_share(node, trial));
}

/// The part that the ask takes of a node with GPUs like this node's.
inline CpuGpu taken_by(const Ask& ask, NodeId node, const Cluster& cluster) {
  const NodeSpec& spec = cluster.node(node);
  const bool wants_gpus = ask.gpus() > GpuCount(0) && spec.gpus > 0;
  const std::int64_t share = wants_gpus ? share_of(ask, cluster.gpu(spec.first_gpu)) : 0;
  return capped(ask.request.cpu.raw(), ask.gpus().raw() * share);
}

}  // namespace berth
