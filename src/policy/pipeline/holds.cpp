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

std::vector<std::vector<JobId>> occupants_of(std::span<const KeptRoom> rooms,
                                             const ClusterView& view) {
  std::vector<std::vector<JobId>> occupants(rooms.size());
  if (rooms.empty()) return occupants;
  BERTH_ASSERT(rooms.size() <= 64);
  const Cluster& cluster = view.cluster();
  std::vector<std::uint64_t> kept(cluster.nodes().size(), 0);
  for (std::size_t r = 0; r < rooms.size(); ++r) {
    const Placement& place = rooms[r].hold.placement;
    kept[place.host.value()] |= std::uint64_t{1} << r;
    for (const GpuId gpu : place.gpus) {
      kept[cluster.node_of(gpu).value()] |= std::uint64_t{1} << r;
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

void count_staying(KeptRoom& room, std::span<const std::uint64_t> awaited,
                   std::span<const JobId> occupants, const ClusterView& view,
                   std::span<const Fresh> started) {
  const std::size_t gpus = room.hold.placement.gpus.size();
  room.charged.assign(gpus, Bytes(0));
  room.tenants.assign(gpus, 0);
  room.milli.assign(gpus, GpuMilli(0));
  const auto awaits = [&](std::uint64_t number) {
    return std::ranges::binary_search(awaited, number);
  };
  for (const JobId id : occupants) {
    const JobView job = view.job(id);
    if (job.state() == JobState::Stopping || awaits(job.grant_number())) continue;
    count_if_staying(room, job.grant(), job.enforced(), view.now());
  }
  std::uint64_t number = view.grants();
  for (const Fresh& given : started) {
    if (!awaits(++number)) count_if_staying(room, given.grant, given.planned, view.now());
  }
}

void count_if_staying(KeptRoom& room, const Grant& grant, Duration planned, Instant now) {
  if (room.until != kNever && later(now, planned) <= room.until) return;
  const std::vector<GpuId>& gpus = room.hold.placement.gpus;
  for (const Share& share : grant.shares) {
    const auto found = std::ranges::lower_bound(gpus, share.gpu);
    if (found == gpus.end() || *found != share.gpu) continue;
    const auto i = static_cast<std::size_t>(found - gpus.begin());
    room.charged[i] += share.charge;
    room.milli[i] += grant.milli;
    ++room.tenants[i];
  }
}

bool is_usable(const Hold& hold, const ClusterView& view, const Tally& tally) {
  const Job* const job = view.find(hold.job);
  if (job == nullptr || !is_waiting(job->state)) return false;
  const Ask ask = ask_of(view.job(hold.job));
  if (ask.request != hold.ask.request || ask.barred != hold.ask.barred) return false;
  if (!tally.allows(view.job(hold.job))) return false;
  if (!view.use().node(hold.placement.host).healthy) return false;
  return std::ranges::all_of(hold.placement.gpus,
                             [&](GpuId gpu) { return berth::is_usable(view.use().gpu(gpu)); });
}

bool can_still_serve(const KeptRoom& room, const ClusterView& view) {
  const std::vector<GpuId>& gpus = room.hold.placement.gpus;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    GpuUse use = view.use().gpu(gpus[i]);
    use.charged = room.charged[i];
    use.tenants = room.tenants[i];
    use.milli = room.milli[i];
    if (use.tenants == 0) use.alone = 0;
    const GpuSpec& spec = view.cluster().gpu(gpus[i]);
    if (!admits(view.settings().admission, spec, use, room.hold.ask)) return false;
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
