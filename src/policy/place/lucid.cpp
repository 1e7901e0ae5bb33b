// The consolidation of Lucid.
#include <algorithm>
#include <memory>
#include <vector>

#include "policy/kit/rooms.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kLucid{
    .title = "Lucid's consolidation: the tightest node, or wholly free nodes and one for the rest.",
    .rule =
        "With P GPUs per node, a job of g <= P goes to the node with the fewest fitting GPUs that "
        "has enough. A larger job takes the first floor(g / P) wholly free nodes and, for the "
        "other g mod P GPUs, the other node with the most fitting GPUs, if it has enough; the "
        "first among equals.",
    .reads = "Request, fitting GPUs per node.",
    .source =
        "The consolidation of Lucid (Hu et al., ASPLOS 2023) as in its simulator, for jobs that "
        "share no GPU.",
    .differs = "P is 8 there; here it is the GPUs of the largest node. Switches are ignored.",
    .cost = "O(nodes with room) for jobs larger than a node.",
    .proof =
        "An independent restatement of the published rule on random clusters: both choose the same "
        "nodes (test/policy/place/lucid_test.cpp)."};

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

std::unique_ptr<Placer> lucid(const Keys&) { return std::make_unique<Lucid>(); }

}  // namespace berth
