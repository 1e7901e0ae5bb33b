// Consolidated: as few nodes as possible, and of those the fullest.
//
// Rule: a job that fits one node goes to the node with the fewest fitting GPUs that has enough. A
//   larger one takes nodes by descending number of fitting GPUs until it has enough; the last part
//   goes to the tightest node that still holds it. Switches with room for all of it come first.
// Reads: ask, fitting GPUs per node, switches.
// Differs from the paper: nothing known; the consolidation of Lucid's placer (ASPLOS 2023) with the
//   same switch first. Cost: O(nodes log nodes); O(GPUs per node) for whole GPUs on one node.
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

class Consolidated final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (ask.gpus() == GpuCount(0)) return candidates.first_host();
    if (!candidates.needs_many_nodes()) {
      const auto node = candidates.tightest_node(candidates.wanted());
      if (!node) return candidates.refusal();
      return candidates.take_from(*node, candidates.wanted());
    }
    for (std::uint32_t s = 0; s < trial.cluster().switches(); ++s) {
      auto gpus =
          gather(rooms(trial.cluster().nodes_of(SwitchId(s)), trial, candidates), candidates);
      if (!gpus.empty()) return placement_on(trial.cluster(), std::move(gpus));
    }
    auto gpus = gather(rooms(trial.cluster().nodes(), trial, candidates), candidates);
    if (gpus.empty()) return candidates.refusal();
    return placement_on(trial.cluster(), std::move(gpus));
  }

 private:
  /// Nodes with room, most first, ties by id.
  static std::vector<Room> rooms(std::span<const NodeSpec> nodes, const Trial& trial,
                                 Candidates& candidates) {
    std::vector<Room> found;
    for (const NodeSpec& spec : nodes) {
      const NodeId node(static_cast<std::uint32_t>(&spec - trial.cluster().nodes().data()));
      const std::uint32_t fitting = candidates.fitting(node);
      if (fitting > 0) found.push_back({fitting, node});
    }
    std::ranges::stable_sort(found, std::ranges::greater(), &Room::fitting);
    return found;
  }

  static std::vector<GpuId> gather(const std::vector<Room>& rooms, Candidates& candidates) {
    std::vector<GpuId> gpus;
    for (std::size_t i = 0; i < rooms.size(); ++i) {
      const auto missing = candidates.wanted() - static_cast<std::uint32_t>(gpus.size());
      if (rooms[i].fitting < missing) {
        candidates.append_fitting(rooms[i].node, rooms[i].fitting, gpus);
        continue;
      }
      std::size_t last = i;  // the tightest of those that hold all that is missing
      while (last + 1 < rooms.size() && rooms[last + 1].fitting >= missing) ++last;
      const std::uint32_t tightest = rooms[last].fitting;
      while (last > i && rooms[last - 1].fitting == tightest) --last;
      candidates.append_fitting(rooms[last].node, missing, gpus);
      return gpus;
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<Placer> consolidated() { return std::make_unique<Consolidated>(); }

}  // namespace berth
