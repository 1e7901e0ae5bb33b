// The jobs on each GPU. A value type; jobs are indices in the trace.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/cluster.hpp"

namespace berth::sim {

class Tenants {
 public:
  explicit Tenants(const Cluster& cluster) : by_gpu_(cluster.gpus().size()) {}

  void add(std::size_t job, std::span<const GpuId> gpus) {
    for (const GpuId gpu : gpus) by_gpu_[gpu.value()].push_back(job);
  }
  void remove(std::size_t job, std::span<const GpuId> gpus) {
    for (const GpuId gpu : gpus) std::erase(by_gpu_[gpu.value()], job);
  }
  /// By arrival there.
  std::span<const std::size_t> on(GpuId gpu) const { return by_gpu_[gpu.value()]; }

 private:
  std::vector<std::vector<std::size_t>> by_gpu_;
};

}  // namespace berth::sim
