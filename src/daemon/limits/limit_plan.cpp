#include "daemon/limits/limit_plan.hpp"

#include <algorithm>

#include "core/steady.hpp"

namespace berth::daemon {

namespace {

/// In whole steps, as charges are.
Bytes part_of(Bytes whole, std::int64_t parts) {
  return kProbeStep * (whole.raw() / parts / kProbeStep.raw());
}

}  // namespace

std::vector<PlannedLimit> plan_limits(const ClusterView& view, GpuId gpu) {
  const GpuSpec& spec = view.cluster().gpu(gpu);
  const GpuUse& use = view.use().gpu(gpu);
  const auto tenants = view.tenants_of(gpu);
  const Bytes room = std::max(Bytes(0), spec.capacity - use.foreign - use.charged);
  const auto number = std::max<std::int64_t>(1, std::ssize(tenants));
  const Bytes margin = std::min(part_of(guard_band(view.settings().admission, spec), spec.slots),
                                part_of(room, number));
  std::vector<PlannedLimit> plan;
  for (const JobId id : tenants) {
    const Job& job = *view.find(id);
    const auto share = std::ranges::find(job.grant.shares, gpu, &Share::gpu);
    if (share == job.grant.shares.end()) continue;
    const bool is_alone = job.spec.request.gpu.sharing == Sharing::Alone;
    const MemoryLimits limits =
        is_alone ? MemoryLimits{}
                 : MemoryLimits{.guaranteed = share->charge, .most = share->charge + margin};
    plan.push_back({.job = id, .attempt = job.attempt, .limits = limits});
  }
  return plan;
}

}  // namespace berth::daemon
