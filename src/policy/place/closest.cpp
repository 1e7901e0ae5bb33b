// Closest: one node, else one switch, else anywhere.
//
// Rule: a job goes to the node with the fewest fitting GPUs that has enough. If none has, it takes
//   nodes of one switch by descending number of fitting GPUs, and if no switch has enough either,
//   of the whole cluster; the first switch that has enough.
// Reads: ask, fitting GPUs per node, switches.
// Differs from the paper: nothing known; the locality levels of YARN's schedulers (node, rack, any)
//   without their delays, which an order sets (order/capacity.cpp). Unlike `consolidated` it
//   spreads a job that would fit one node. Part of `capacity`, not registered by itself.
//   Cost: O(nodes log nodes).
#include <algorithm>
#include <memory>
#include <vector>

#include "policy/candidates.hpp"
#include "policy/registry.hpp"

namespace berth {

namespace {

struct Room {
  std::uint32_t fitting;
  NodeId node;
};

class Closest final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (ask.gpus() == GpuCount(0)) return candidates.first_host();
    if (!candidates.needs_many_nodes()) {
      const auto node = candidates.tightest_node(candidates.wanted());
      if (node) return candidates.take_from(*node, candidates.wanted());
    }
    const Cluster& cluster = trial.cluster();
    for (std::uint32_t s = 0; s < cluster.switches(); ++s) {
      auto gpus = gather(cluster.nodes_of(SwitchId(s)), cluster, candidates);
      if (!gpus.empty()) return placement_on(cluster, std::move(gpus));
    }
    auto gpus = gather(cluster.nodes(), cluster, candidates);
    if (gpus.empty()) return candidates.refusal();
    return placement_on(cluster, std::move(gpus));
  }

 private:
  /// From the nodes with most room on; nothing if all of them have too little.
  static std::vector<GpuId> gather(std::span<const NodeSpec> nodes, const Cluster& cluster,
                                   Candidates& candidates) {
    std::vector<Room> rooms;
    std::uint32_t room = 0;
    for (const NodeSpec& spec : nodes) {
      const NodeId node(static_cast<std::uint32_t>(&spec - cluster.nodes().data()));
      rooms.push_back({candidates.fitting(node), node});
      room += rooms.back().fitting;
    }
    if (room < candidates.wanted()) return {};
    std::ranges::stable_sort(rooms, std::ranges::greater(), &Room::fitting);
    std::vector<GpuId> gpus;
    for (const Room& here : rooms) {
      const auto missing = candidates.wanted() - static_cast<std::uint32_t>(gpus.size());
      if (missing == 0) break;
      candidates.append_fitting(here.node, std::min(missing, here.fitting), gpus);
    }
    return gpus;
  }
};

}  // namespace

std::unique_ptr<Placer> closest() { return std::make_unique<Closest>(); }

}  // namespace berth
