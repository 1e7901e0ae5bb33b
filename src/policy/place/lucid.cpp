// Lucid: the tightest node, and for a job larger than a node wholly free ones and one for the rest.
//
// Rule: with P GPUs per node, a job of g <= P goes to the node with the fewest fitting GPUs that
//   has enough. A larger one takes the first floor(g / P) nodes that are wholly free and, for the
//   g mod P left, of the others the one with the most fitting GPUs, if those are enough; the first
//   among equals.
// Reads: ask, fitting GPUs per node.
// Differs from the paper: nothing known; the consolidation of Lucid (Hu et al., ASPLOS 2023) as its
//   simulator has it, for jobs that share no GPU; P is 8 there, the largest node's GPUs here. It
//   knows no switches. Cost: O(nodes with room) for jobs larger than a node.
#include <algorithm>
#include <memory>
#include <vector>

#include "policy/kit/rooms.hpp"
#include "policy/registry.hpp"

namespace berth {

namespace {

class Lucid final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (ask.gpus() == GpuCount(0)) return candidates.first_host();
    if (!candidates.needs_many_nodes()) {
      const auto node = candidates.tightest_node(candidates.wanted());
      if (!node) return candidates.refusal();
      return candidates.take_from(*node, candidates.wanted());
    }
    if (trial.cluster().largest_node() == 0 || !candidates.may_suffice()) {
      return candidates.refusal();
    }
    auto gpus = whole_nodes_and_rest(trial, candidates);
    if (gpus.empty()) return candidates.refusal();
    return placement_on(trial.cluster(), std::move(gpus));
  }
  bool keeps_on_node() const override { return true; }

 private:
  /// None if there are not enough.
  static std::vector<GpuId> whole_nodes_and_rest(const Trial& trial, Candidates& candidates) {
    const std::vector<Room> rooms = rooms_of(trial.cluster().nodes(), trial, candidates);
    const std::uint32_t size = trial.cluster().largest_node();
    std::vector<GpuId> gpus;
    std::uint32_t left = candidates.wanted();
    for (const Room& room : rooms) {
      const std::uint32_t here = std::min(left, size);
      if (room.fitting < here) break;
      candidates.append_fitting(NodeId(room.place), here, gpus);
      left -= here;
      if (left == 0) return gpus;
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<Placer> lucid() { return std::make_unique<Lucid>(); }

}  // namespace berth
