// Topology: the closest GPUs, and at each distance the tightest place.
#include <algorithm>
#include <memory>
#include <tuple>
#include <vector>

#include "policy/kit/rooms.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kTopology{
    .title = "Topology: the closest GPUs, and at each distance the tightest place.",
    .rule =
        "If a node holds the job, the node with the fewest fitting GPUs, and of equal nodes one "
        "under the switch with the fewest. Else, if a switch holds it, the switch with the fewest "
        "fitting GPUs. Else switches by descending number of fitting GPUs, and for the rest the "
        "switch with the fewest that has enough. Under a switch nodes are chosen in the same way.",
    .reads = "Request, fitting GPUs per node and switch.",
    .source =
        "The best fit by leaf switches of Slurm's topology/tree, with nodes below the leaves.",
    .differs =
        "Nothing known. Links within a node are not modelled, so its GPUs are equally close.",
    .cost = "O(nodes log nodes).",
    .proof =
        "Exhaustive search on small clusters: no other placement spans fewer switches, nor fewer "
        "nodes of one switch (test/policy/place/topology_test.cpp)."};

namespace {

class Topology final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (ask.gpus() == GpuCount(0)) return candidates.first_host();
    const Tree tree = tree_of(trial, candidates);
    if (!candidates.needs_many_nodes()) {
      const auto node = closest_node(tree, candidates.wanted());
      if (!node) return candidates.refusal();
      return candidates.take_from(*node, candidates.wanted());
    }
    if (room_in(tree.switches) < candidates.wanted()) return candidates.refusal();
    std::vector<GpuId> gpus;
    const auto take = [&](const Room& room, std::uint32_t part) {
      append_fewest(tree.nodes[room.place], part, candidates, gpus);
    };
    take_fewest(std::span<const Room>(tree.switches), candidates.wanted(), take);
    return placement_on(trial.cluster(), std::move(gpus));
  }

 private:
  /// Where there is room, level by level.
  struct Tree {
    std::vector<std::vector<Room>> nodes;  ///< By switch.
    std::vector<Room> switches;            ///< Most room first.
  };

  static Tree tree_of(const Trial& trial, Candidates& candidates) {
    Tree tree;
    for (std::uint32_t s = 0; s < trial.cluster().switches(); ++s) {
      tree.nodes.push_back(rooms_of(trial.cluster().nodes_of(SwitchId(s)), trial, candidates));
      const std::uint32_t room = room_in(tree.nodes.back());
      if (room > 0) tree.switches.push_back({room, s});
    }
    std::ranges::stable_sort(tree.switches, std::ranges::greater(), &Room::fitting);
    return tree;
  }

  static std::optional<NodeId> closest_node(const Tree& tree, std::uint32_t wanted) {
    std::optional<std::tuple<std::uint32_t, std::uint32_t, NodeId>> best;
    for (const Room& above : tree.switches) {
      const std::vector<Room>& nodes = tree.nodes[above.place];
      if (nodes.front().fitting < wanted) continue;
      const Room& node = tightest(nodes, wanted);
      const std::tuple choice(node.fitting, above.fitting, NodeId(node.place));
      if (!best || choice < *best) best = choice;
    }
    return best ? std::optional(std::get<NodeId>(*best)) : std::nullopt;
  }
};

}  // namespace

std::unique_ptr<Placer> topology(const Keys&) { return std::make_unique<Topology>(); }

}  // namespace berth
