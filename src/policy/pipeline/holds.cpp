#include "policy/pipeline/holds.hpp"

#include <algorithm>
#include <bit>

#include "core/assert.hpp"

namespace berth {

namespace {

bool needs_host(const Ask& ask) {
  return ask.gpus() == GpuCount(0) || ask.request.cpu > CpuMilli(0) || ask.request.host > Bytes(0);
}

}  // namespace

std::vector<std::vector<JobId>> occupants_of(std::span<const Hold> holds, const ClusterView& view) {
  std::vector<std::vector<JobId>> occupants(holds.size());
  if (holds.empty()) return occupants;
  BERTH_ASSERT(holds.size() <= 64);
  const Cluster& cluster = view.cluster();
  std::vector<std::uint64_t> kept(cluster.nodes().size(), 0);
  for (std::size_t h = 0; h < holds.size(); ++h) {
    kept[holds[h].placement.host.value()] |= std::uint64_t{1} << h;
    for (const GpuId gpu : holds[h].placement.gpus) {
      kept[cluster.node_of(gpu).value()] |= std::uint64_t{1} << h;
    }
  }
  for (const JobId id : view.running()) {
    std::uint64_t on = 0;
    for_each_node(cluster, view.job(id).grant(),
                  [&](NodeId node, std::size_t) { on |= kept[node.value()]; });
    for (; on != 0; on &= on - 1) {
      occupants[static_cast<std::size_t>(std::countr_zero(on))].push_back(id);
    }
  }
  return occupants;
}

void count_outlasting(Hold& hold, std::span<const JobId> occupants, const ClusterView& view,
                      std::span<const Fresh> started) {
  const std::size_t gpus = hold.placement.gpus.size();
  hold.lent.assign(gpus, Bytes(0));
  hold.lent_tenants.assign(gpus, 0);
  hold.lent_milli.assign(gpus, GpuMilli(0));
  const auto awaits = [&](std::uint64_t number) {
    return std::ranges::binary_search(hold.awaited, number);
  };
  for (const JobId id : occupants) {
    const JobView job = view.job(id);
    if (job.state() == JobState::Stopping || awaits(job.grant_number())) continue;
    count_if_outlasting(hold, job.grant(), job.enforced(), view.now());
  }
  std::uint64_t number = view.grants();
  for (const Fresh& given : started) {
    if (!awaits(++number)) count_if_outlasting(hold, given.grant, given.planned, view.now());
  }
}

void count_if_outlasting(Hold& hold, const Grant& grant, Duration planned, Instant now) {
  const Instant until = lent_until(hold, now);
  if (until != kNever && later(now, planned) <= until) return;
  for (const Share& share : grant.shares) {
    const auto found = std::ranges::lower_bound(hold.placement.gpus, share.gpu);
    if (found == hold.placement.gpus.end() || *found != share.gpu) continue;
    const auto i = static_cast<std::size_t>(found - hold.placement.gpus.begin());
    hold.lent[i] += share.charge;
    hold.lent_milli[i] += grant.milli;
    ++hold.lent_tenants[i];
  }
}

bool is_usable(const Hold& hold, const ClusterView& view, const Tally& tally) {
  const Job* const job = view.find(hold.job);
  if (job == nullptr || !is_waiting(job->state)) return false;
  if (ask_of(view.job(hold.job)).request != hold.ask.request) return false;
  if (!tally.allows(view.job(hold.job))) return false;
  if (!view.use().node(hold.placement.host).healthy) return false;
  return std::ranges::all_of(hold.placement.gpus,
                             [&](GpuId gpu) { return berth::is_usable(view.use().gpu(gpu)); });
}

bool can_still_serve(const Hold& hold, const ClusterView& view) {
  for (std::size_t i = 0; i < hold.placement.gpus.size(); ++i) {
    const GpuSpec& spec = view.cluster().gpu(hold.placement.gpus[i]);
    GpuUse use = view.use().gpu(hold.placement.gpus[i]);
    use.charged = hold.lent[i];
    use.tenants = hold.lent_tenants[i];
    use.milli = hold.lent_milli[i];
    if (use.tenants == 0) use.alone = 0;
    if (!admits(view.settings().admission, spec, use, hold.ask)) return false;
  }
  return true;
}

bool touches(const Hold& hold, const Grant& grant, const Cluster& cluster) {
  const auto& gpus = hold.placement.gpus;
  const auto is_kept = [&](const Share& share) {
    return std::ranges::binary_search(gpus, share.gpu);
  };
  if (std::ranges::any_of(grant.shares, is_kept)) return true;
  if (!needs_host(hold.ask)) return false;
  bool touches = false;
  for_each_node(cluster, grant, [&](NodeId node, std::size_t) {
    touches = touches || node == hold.placement.host ||
              std::ranges::any_of(gpus, [&](GpuId gpu) { return cluster.node_of(gpu) == node; });
  });
  return touches;
}

}  // namespace berth
