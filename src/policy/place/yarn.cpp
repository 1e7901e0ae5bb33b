// Yarn: one node if the job fits one, else whole nodes and a remainder under one switch.
#include <memory>
#include <vector>

#include "policy/kit/candidates.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kYarn{
    .title =
        "Yarn: one node if the job fits one, else whole nodes and a remainder under one switch.",
    .rule =
        "With P GPUs per node, a job of g <= P goes to the first node with g fitting GPUs. A "
        "larger job takes the first floor(g / P) wholly free nodes and, for the other g mod P "
        "GPUs, the first other node with enough, all under the first switch that allows it.",
    .reads = "Request, free GPUs per node, switches.",
    .source = "The scheme `yarn` of the simulator of Tiresias (Gu et al., NSDI 2019).",
    .differs = "Nothing known.",
    .cost = "O(nodes) at worst, O(nodes / 64) for whole GPUs.",
    .proof =
        "Every start and end of that simulator's own runs with `yarn`, under five of its policies; "
        "the runs with preemption are of the simulator with its leak of memory fixed "
        "(test/sim/tiresias_oracle_test.cpp)."};

namespace {

class Yarn final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (ask.gpus() == GpuCount(0)) return candidates.first_host();
    if (!candidates.needs_many_nodes()) {
      const auto node = candidates.first_node(candidates.wanted());
      if (!node) return candidates.refusal();
      return candidates.take_from(*node, candidates.wanted());
    }
    for (std::uint32_t s = 0; s < trial.cluster().switches(); ++s) {
      auto gpus = under_switch(SwitchId(s), trial.cluster(), candidates);
      if (!gpus.empty()) return placement_on(trial.cluster(), std::move(gpus));
    }
    return candidates.refusal();
  }

 private:
  static std::vector<GpuId> under_switch(SwitchId id, const Cluster& cluster,
                                         Candidates& candidates) {
    const auto nodes = cluster.nodes_of(id);
    if (nodes.empty() || cluster.largest_node() == 0) return {};
    const NodeId first(static_cast<std::uint32_t>(nodes.data() - cluster.nodes().data()));
    const NodeId end(first.value() + static_cast<std::uint32_t>(nodes.size()));
    const std::uint32_t size = cluster.largest_node();
    std::vector<GpuId> gpus;
    NodeId from = first;
    std::vector<NodeId> taken;
    for (std::uint32_t left = candidates.wanted() / size; left > 0; --left) {
      const auto node = candidates.first_node(size, from, end);
      if (!node) return {};
      candidates.append_fitting(*node, size, gpus);
      taken.push_back(*node);
      from = NodeId(node->value() + 1);
    }
    const std::uint32_t rest = candidates.wanted() % size;
    if (rest == 0) return gpus;
    const auto node = first_other(candidates, rest, taken, first, end);
    if (!node) return {};
    candidates.append_fitting(*node, rest, gpus);
    return gpus;
  }

  static std::optional<NodeId> first_other(Candidates& candidates, std::uint32_t rest,
                                           const std::vector<NodeId>& taken, NodeId from,
                                           NodeId end) {
    auto node = candidates.first_node(rest, from, end);
    for (std::size_t i = 0; node && i < taken.size();) {
      if (taken[i] < *node) {
        ++i;
      } else if (taken[i] == *node) {
        node = candidates.first_node(rest, NodeId(node->value() + 1), end);
      } else {
        break;
      }
    }
    return node;
  }
};

}  // namespace

std::unique_ptr<Placer> yarn(const Keys&) { return std::make_unique<Yarn>(); }

}  // namespace berth
