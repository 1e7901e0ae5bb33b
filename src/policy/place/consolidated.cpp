// Consolidated: as few nodes as possible, and of those the fullest.
//
// Rule: a job that fits one node goes to the node with the fewest fitting GPUs that has enough. A
//   larger one takes nodes by descending number of fitting GPUs until it has enough; the last part
//   goes to the tightest node that still holds it. Switches with room for all of it come first.
// Reads: ask, fitting GPUs per node, switches.
// Differs from the paper: nothing known (folklore: best fit by GPUs, the fewest nodes). `lucid` is
//   the consolidation of Lucid (ASPLOS 2023): up to a node it places alike, beyond one it takes
//   nothing but wholly free nodes and one for the rest.
//   Cost: O(nodes log nodes); O(GPUs per node) for whole GPUs on one node.
#include <memory>
#include <vector>

#include "policy/kit/rooms.hpp"
#include "policy/registry.hpp"

namespace berth {

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

std::unique_ptr<Placer> consolidated() { return std::make_unique<Consolidated>(); }

}  // namespace berth
