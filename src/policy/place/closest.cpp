// Closest: one node, else one switch, else anywhere. It is a part of `capacity` and has no name of
// its own.
//
// A job goes to the node with the fewest fitting GPUs that has enough. If no node has enough, the
// job takes nodes of the first switch that has, by descending number of fitting GPUs, and else
// nodes of the whole cluster. These are the locality levels of YARN's schedulers (node, rack, any)
// without their delays, which whole/capacity.cpp sets. Cost: O(nodes log nodes).
#include <algorithm>
#include <memory>
#include <vector>

#include "policy/kit/rooms.hpp"
#include "policy/policies.hpp"

namespace berth {

namespace {

class Closest final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (ask.gpus() == GpuCount(0)) return candidates.first_host();
    if (!candidates.needs_many_nodes()) {
      const auto node = candidates.tightest_node(candidates.wanted());
      if (node) return candidates.take_from(*node, candidates.wanted());
    }
    return place_near(trial, candidates, [&](std::span<const Room> rooms, auto& gpus) {
      for (const Room& room : rooms) {
        const auto missing = candidates.wanted() - static_cast<std::uint32_t>(gpus.size());
        if (missing == 0) break;
        candidates.append_fitting(NodeId(room.place), std::min(missing, room.fitting), gpus);
      }
    });
  }
};

}  // namespace

std::unique_ptr<Placer> closest() { return std::make_unique<Closest>(); }

}  // namespace berth
