// Topology: the closest GPUs, and at each distance the tightest place.
#include <algorithm>
#include <memory>
#include <tuple>
#include <vector>

#include "policy/kit/close_gpus.hpp"
#include "policy/kit/rooms.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kTopology{
    .title = "Topology: the closest GPUs, and at each distance the tightest place.",
    .rule =
        "If nodes hold the job, the node on which the farthest two of its GPUs are closest, then "
        "all pairs; of equal nodes the one with the fewest fitting GPUs, then one under the switch "
        "with the fewest. On it the closest GPUs; of equally close ones those farthest from the "
        "rest, so that what is left is close, too. GPUs are near by NVLinks, the more the nearer, "
        "then by what is between them on the bus, then by memory nodes (core/link.hpp). Else, if "
        "a switch holds the job, the switch with the fewest fitting GPUs. Else switches by "
        "descending number of fitting GPUs, and for the rest the switch with the fewest that has "
        "enough. Under a switch nodes are chosen in the same way.",
    .reads = "Request, fitting GPUs per node and switch, links between the GPUs of a node.",
    .source =
        "The best fit by leaf switches of Slurm's topology/tree, with nodes below the leaves.",
    .differs = "Slurm counts switches only; links within a node come before them here.",
    .cost = "O(nodes log nodes); with links also the sets of GPUs of a node, pruned.",
    .proof =
        "Exhaustive search on small clusters: no other placement spans fewer switches, nor fewer "
        "nodes of one switch, and no other set on a node is closer "
        "(test/policy/place/topology_test.cpp, test/policy/kit/close_gpus_test.cpp)."};

namespace {

class Topology final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (ask.gpus() == GpuCount(0)) return candidates.first_host();
    const Tree tree = tree_of(trial, candidates);
    if (!candidates.needs_many_nodes()) {
      const auto node = closest_node(tree, candidates, trial);
      if (!node) return candidates.refusal();
      return candidates.take_closest(*node, candidates.wanted());
    }
    if (room_in(tree.switches) < candidates.wanted()) return candidates.refusal();
    std::vector<GpuId> gpus;
    const auto take = [&](const Room& room, std::uint32_t part) {
      take_fewest(std::span<const Room>(tree.nodes[room.place]), part,
                  [&](const Room& node, std::uint32_t count) {
                    candidates.append_closest(NodeId(node.place), count, gpus);
                  });
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

  using Choice = std::tuple<Closeness, std::uint32_t, std::uint32_t, NodeId>;

  static std::optional<NodeId> closest_node(const Tree& tree, Candidates& candidates,
                                            const Trial& trial) {
    const std::uint32_t wanted = candidates.wanted();
    const bool has_links = trial.cluster().has_links();
    std::optional<Choice> best;
    const auto consider = [&](const Room& node, const Room& above) {
      const Closeness closeness =
          has_links ? least_closeness(node, candidates, trial) : Closeness{};
      const Choice choice(closeness, node.fitting, above.fitting, NodeId(node.place));
      if (!best || choice < *best) best = choice;
    };
    for (const Room& above : tree.switches) {
      const std::vector<Room>& nodes = tree.nodes[above.place];
      if (nodes.front().fitting < wanted) continue;
      if (!has_links) {
        consider(tightest(nodes, wanted), above);
        continue;
      }
      for (const Room& node : nodes) {
        if (node.fitting >= wanted) consider(node, above);
      }
    }
    return best ? std::optional(std::get<NodeId>(*best)) : std::nullopt;
  }

  static Closeness least_closeness(const Room& node, Candidates& candidates, const Trial& trial) {
    std::vector<GpuId> gpus;
    candidates.append_closest(NodeId(node.place), candidates.wanted(), gpus);
    return closeness_of(trial.cluster(), gpus);
  }
};

}  // namespace

std::unique_ptr<Placer> topology(const Keys&) { return std::make_unique<Topology>(); }

}  // namespace berth
