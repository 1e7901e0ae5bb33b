#include "sim/shards.hpp"

#include <algorithm>
#include <string>

namespace berth::sim {

Expected<void> give_shards(trace::Trace& trace, const Cluster& cluster, std::int64_t shards) {
  const auto refuse = [](const std::string& why) {
    return fail(ErrorCode::InvalidArgument, "--shards: " + why);
  };
  if (shards < 1 || shards > kMostShards) {
    return refuse("'" + std::to_string(shards) + "' is not a number from 1 to " +
                  std::to_string(kMostShards));
  }
  const auto gpus = cluster.gpus();
  if (gpus.empty()) return refuse("the cluster has no GPUs");
  const auto other = std::ranges::find_if(
      gpus, [&](const GpuSpec& gpu) { return gpu.capacity != gpus.front().capacity; });
  if (other != gpus.end()) return refuse("needs a cluster whose GPUs have the same memory");
  const auto part = std::max<std::int64_t>(1, gpus.front().capacity.raw() / shards);
  for (trace::TraceJob& job : trace.jobs) {
    GpuRequest& gpu = job.spec.request.gpu;
    if (gpu.vram == Bytes(0)) continue;
    const std::int64_t wanted =
        std::min(shards, gpu.vram.raw() / part + (gpu.vram.raw() % part == 0 ? 0 : 1));
    gpu.milli = std::max(gpu.milli, GpuMilli(wanted * kWholeGpu.raw() / shards));
  }
  return {};
}

}  // namespace berth::sim
