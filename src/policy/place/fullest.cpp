// Fullest: one node if it can be, else whatever is left on the fullest nodes.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "policy/kit/candidates.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kFullest{
    .title = "Fullest: one node if some has room, else what is left on the fullest nodes.",
    .rule =
        "Of the nodes with enough fitting GPUs the one with the fewest. If there is none, fitting "
        "GPUs of the nodes with the fewest vacant GPUs first, until there are enough. A job is "
        "spread sooner than it waits.",
    .reads = "Request, fitting and vacant GPUs per node, cores and memory per node.",
    .source =
        "Synergy (Mohan et al., OSDI 2022): placement with consolidation, as its simulator has it.",
    .differs = "Nothing known.",
    .cost = "O(nodes log nodes + GPUs).",
    .proof =
        "Every start and end of that simulator's runs with placement "
        "(test/paper/synergy_test.cpp)."};

namespace {

class Fullest final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (ask.gpus() == GpuCount(0)) return candidates.first_host();
    if (const auto node = candidates.tightest_node(candidates.wanted())) {
      return candidates.take_from(*node, candidates.wanted());
    }
    std::vector<NodeId> nodes;
    for (const NodeId node : trial.cluster().node_ids()) nodes.push_back(node);
    std::ranges::stable_sort(nodes, {}, [&](NodeId id) { return trial.use().node(id).vacant; });
    std::vector<GpuId> gpus;
    for (const NodeId node : nodes) {
      const auto missing = candidates.wanted() - static_cast<std::uint32_t>(gpus.size());
      candidates.append_fitting(node, std::min(missing, candidates.fitting(node)), gpus);
    }
    if (gpus.size() < candidates.wanted()) return candidates.refusal();
    return placement_on(trial.cluster(), std::move(gpus));
  }
};

}  // namespace

std::unique_ptr<Placer> fullest(const Keys&) { return std::make_unique<Fullest>(); }

}  // namespace berth
