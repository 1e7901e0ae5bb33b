#include "core/occupancy.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/assert.hpp"

namespace berth {

namespace {
constexpr Bytes kNoRoom(-1);
constexpr std::uint32_t kNodesOfBlock = 32;
}  // namespace

Occupancy::Occupancy(const Cluster& cluster, const Admission& admission)
    : admission_(admission),
      gpus_(cluster.gpus().size()),
      nodes_(cluster.nodes().size()),
      by_vacant_(cluster.largest_node() + 1, NodeSet(cluster.nodes().size())),
      rooms_(cluster.nodes().size(), kNoRoom),
      most_rooms_((cluster.nodes().size() + kNodesOfBlock - 1) / kNodesOfBlock, kNoRoom) {
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) by_vacant_[0].insert(NodeId(n));
  recount(cluster);
}

void Occupancy::recount(const Cluster& cluster) {
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    const NodeSpec& spec = cluster.nodes()[n];
    std::int64_t vacant = 0;
    for (const GpuId gpu : spec.gpu_ids()) {
      if (vacant_now(cluster, gpu)) ++vacant;
    }
    reindex(NodeId(n), vacant - nodes_[n].vacant);
    find_room(cluster, NodeId(n));
  }
}

void Occupancy::find_room(const Cluster& cluster, NodeId node) {
  Bytes most = kNoRoom;
  for (const GpuId gpu : cluster.node(node).gpu_ids()) {
    most = std::max(most, room_now(cluster, gpu));
  }
  set_room(node, most);
}

void Occupancy::set_room(NodeId node, Bytes most) {
  const Bytes was = std::exchange(rooms_[node.value()], most);
  const std::uint32_t block = node.value() / kNodesOfBlock;
  Bytes& of_block = most_rooms_[block];
  if (most >= of_block) {
    of_block = most;
  } else if (was == of_block) {
    const auto first = rooms_.begin() + std::ptrdiff_t{block * kNodesOfBlock};
    const auto left = std::min<std::ptrdiff_t>(kNodesOfBlock, rooms_.end() - first);
    of_block = *std::max_element(first, first + left);
  }
}

NodeId Occupancy::next_with_room(Bytes room, NodeId from, NodeId end) const {
  for (std::uint32_t node = from.value(); node < end.value();) {
    if (most_rooms_[node / kNodesOfBlock] < room) {
      node = (node / kNodesOfBlock + 1) * kNodesOfBlock;
    } else if (rooms_[node] < room) {
      ++node;
    } else {
      return NodeId(node);
    }
  }
  return end;
}

void Occupancy::reindex(NodeId node, std::int64_t change) {
  if (change == 0) return;
  NodeUse& use = nodes_[node.value()];
  by_vacant_[use.vacant].erase(node);
  use.vacant = static_cast<std::uint32_t>(use.vacant + change);
  vacant_ += change;
  by_vacant_[use.vacant].insert(node);
}

Grant Occupancy::grant_for(const Cluster& cluster, const Ask& ask,
                           const Placement& placement) const {
  Grant grant{.shares = {},
              .host = placement.host,
              .cpu = ask.request.cpu,
              .memory = ask.request.host,
              .milli = ask.request.gpu.milli,
              .sharing = ask.request.gpu.sharing};
  grant.shares.reserve(placement.gpus.size());
  for (const GpuId id : placement.gpus) {
    const Bytes charge = charge_of(ask, cluster.gpu(id), gpus_[id.value()]);
    grant.shares.push_back({.gpu = id, .charge = charge, .granted = charge});
  }
  return grant;
}

namespace {
std::uint32_t gang_of(const Grant& grant) {
  return static_cast<std::uint32_t>(grant.shares.size());
}
}  // namespace

void Occupancy::put(const Cluster& cluster, const Grant& grant) {
  std::size_t next = 0;
  for_each_node(cluster, grant, [&](NodeId node, std::size_t here) {
    std::int64_t change = 0;
    bool had_most = false;
    for (const std::size_t end = next + here; next < end; ++next) {
      const Share& share = grant.shares[next];
      GpuUse& use = gpus_[share.gpu.value()];
      if (vacant_now(cluster, share.gpu)) --change;
      had_most = had_most || room_now(cluster, share.gpu) == rooms_[node.value()];
      use.charged += share.charge;
      use.milli += grant.milli;
      ++use.tenants;
      if (grant.sharing == Sharing::Alone) ++use.alone, use.gang += gang_of(grant);
    }
    reindex(node, change);
    if (had_most) find_room(cluster, node);
    const std::size_t all = grant.shares.size();
    nodes_[node.value()].cpu += CpuMilli(host_part(grant.cpu.raw(), here, all));
    nodes_[node.value()].host += Bytes(host_part(grant.memory.raw(), here, all));
  });
}

void Occupancy::take(const Cluster& cluster, const Grant& grant) {
  std::size_t next = 0;
  for_each_node(cluster, grant, [&](NodeId node, std::size_t here) {
    std::int64_t change = 0;
    Bytes most = rooms_[node.value()];
    for (const std::size_t end = next + here; next < end; ++next) {
      const Share& share = grant.shares[next];
      GpuUse& use = gpus_[share.gpu.value()];
      BERTH_ASSERT(use.tenants > 0 && use.charged >= share.charge);
      use.charged -= share.charge;
      use.milli -= grant.milli;
      --use.tenants;
      if (grant.sharing == Sharing::Alone) --use.alone, use.gang -= gang_of(grant);
      if (vacant_now(cluster, share.gpu)) ++change;
      most = std::max(most, room_now(cluster, share.gpu));
    }
    set_room(node, most);
    reindex(node, change);
    const std::size_t all = grant.shares.size();
    nodes_[node.value()].cpu -= CpuMilli(host_part(grant.cpu.raw(), here, all));
    nodes_[node.value()].host -= Bytes(host_part(grant.memory.raw(), here, all));
  });
}

void Occupancy::set_gpu(const Cluster& cluster, GpuId id, const GpuUse& use) {
  const int before = vacant_now(cluster, id) ? 1 : 0;
  const Bytes room = room_now(cluster, id);
  const NodeId node = cluster.node_of(id);
  gpus_[id.value()] = use;
  reindex(node, (vacant_now(cluster, id) ? 1 : 0) - before);
  const Bytes most = rooms_[node.value()];
  if (room == most) return find_room(cluster, node);
  set_room(node, std::max(most, room_now(cluster, id)));
}

void Occupancy::put_back(NodeId id, const NodeUse& use, Bytes room) {
  reindex(id, std::int64_t{use.vacant} - nodes_[id.value()].vacant);
  nodes_[id.value()] = use;
  set_room(id, room);
}

void Occupancy::set_node(NodeId id, const NodeUse& use) {
  const std::uint32_t vacant = nodes_[id.value()].vacant;  // the index owns this one
  nodes_[id.value()] = use;
  nodes_[id.value()].vacant = vacant;
}

void Occupancy::set_admission(const Cluster& cluster, const Admission& admission) {
  admission_ = admission;
  recount(cluster);
}

bool host_fits(const Cluster& cluster, const Occupancy& use, NodeId node, const Ask& ask,
               std::size_t here) {
  if (!use.node(node).healthy || !may_be_on(node, ask, here)) return false;
  if (use.admission().mode == AdmissionMode::None) return true;
  const auto all = static_cast<std::size_t>(ask.gpus().raw());
  const std::int64_t cpu = host_part(ask.request.cpu.raw(), here, all);
  const std::int64_t host = host_part(ask.request.host.raw(), here, all);
  const NodeSpec& spec = cluster.node(node);
  return use.node(node).cpu + CpuMilli(cpu) <= spec.cpu &&
         use.node(node).host + Bytes(host) <= spec.host;
}

bool fits(const Cluster& cluster, const Occupancy& use, const Placement& placement,
          const Ask& ask) {
  const auto& gpus = placement.gpus;
  if (gpus.empty()) return host_fits(cluster, use, placement.host, ask, 0);
  for (std::size_t i = 0; i < gpus.size();) {
    const NodeId node = cluster.node_of(gpus[i]);
    std::size_t end = i;
    for (; end < gpus.size() && cluster.node_of(gpus[end]) == node; ++end) {
      if (!admits(use.admission(), cluster.gpu(gpus[end]), use.gpu(gpus[end]), ask)) return false;
    }
    if (!host_fits(cluster, use, node, ask, end - i)) return false;
    i = end;
  }
  return true;
}

}  // namespace berth
