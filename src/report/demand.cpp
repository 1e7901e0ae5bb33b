#include "report/demand.hpp"

#include <algorithm>
#include <tuple>

namespace berth::sim {

namespace {

auto kind_of(const GpuSpec& gpu) {
  return std::tuple(gpu.share_mode == ShareMode::Exclusive, gpu.slots, gpu.capacity, gpu.context);
}

double part(double amount, double of) { return of > 0 ? std::min(1.0, amount / of) : 1; }

}  // namespace

double Demand::largest() const { return std::max({slots, compute, memory}); }

Demands::Demands(const Cluster& cluster) {
  for (const GpuSpec& gpu : cluster.gpus()) {
    if (std::ranges::find(kinds_, kind_of(gpu), kind_of) == kinds_.end()) kinds_.push_back(gpu);
  }
}

Demand Demands::of(const JobSpec& spec) const {
  const GpuRequest& asked = spec.request.gpu;
  const auto gpus = static_cast<double>(asked.count.raw());
  const Bytes vram = asked.vram > Bytes(0) ? asked.vram : spec.vram_estimate;
  if (asked.sharing == Sharing::Alone || vram == Bytes(0)) return {gpus, gpus, gpus};
  Demand least{1, 1, 1};
  for (const GpuSpec& gpu : kinds_) {
    const bool is_whole = gpu.share_mode == ShareMode::Exclusive;
    const Bytes charge = vram + gpu.context * asked.processes;
    const auto raw = [](auto amount) { return static_cast<double>(amount.raw()); };
    least.slots = std::min(least.slots, is_whole ? 1 : part(1, gpu.slots));
    least.compute = std::min(least.compute, is_whole ? 1 : part(raw(asked.milli), raw(kWholeGpu)));
    least.memory = std::min(least.memory, is_whole ? 1 : part(raw(charge), raw(gpu.capacity)));
  }
  return {least.slots * gpus, least.compute * gpus, least.memory * gpus};
}

}  // namespace berth::sim
