// Consolidated: as few nodes as possible, and of those the fullest.
#include <memory>
#include <vector>

#include "policy/kit/rooms.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kConsolidated{
    .title = "Consolidated: as few nodes as possible, and of those the fullest.",
    .rule =
        "A job that fits one node goes to the node with the fewest fitting GPUs that has enough. A "
        "larger job takes nodes by descending number of fitting GPUs; its last part goes to the "
        "node with the fewest fitting GPUs that has enough for it. A switch with room for the "
        "whole job is preferred.",
    .reads = "Request, fitting GPUs per node, switches.",
    .source = "Folklore: best fit by GPUs, the fewest nodes.",
    .differs =
        "Nothing known. `lucid` places jobs of one node the same way, and larger jobs on wholly "
        "free nodes and one node for the rest.",
    .cost = "O(nodes log nodes); O(GPUs per node) for whole GPUs on one node.",
    .proof = "None yet."};

namespace {

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
    return place_near(trial, candidates, [&](std::span<const Room> rooms, auto& gpus) {
      append_fewest(rooms, candidates.wanted(), candidates, gpus);
    });
  }
  bool keeps_on_node() const override { return true; }
};

}  // namespace

std::unique_ptr<Placer> consolidated(const Keys&) { return std::make_unique<Consolidated>(); }

}  // namespace berth
