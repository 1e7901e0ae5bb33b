// Best fit by memory: where the least free memory stays behind.
//
// Rule: of the GPUs that fit, those with the least free memory. Within the job's node count: the
// node
//   whose chosen GPUs leave the least, the first among equals; a job larger than the largest node
//   takes its GPUs over all nodes by the same measure.
// Reads: ask, free memory per GPU, cores and memory per node.
// Differs from the paper: nothing known (folklore, Johnson 1973). Cost: O(GPUs log GPUs per node).
#include <algorithm>
#include <memory>
#include <vector>

#include "policy/candidates.hpp"
#include "policy/registry.hpp"

namespace berth {

namespace {

struct Choice {
  Bytes left;
  GpuId gpu;
  auto operator<=>(const Choice&) const = default;
};

class BestFit final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (ask.gpus() == GpuCount(0)) return candidates.first_host();
    if (candidates.needs_many_nodes()) return candidates.gather_in_order();
    std::vector<Choice> best;
    Bytes least(0);
    for (NodeId node(0); node < NodeId(candidates.node_count()); node = NodeId(node.value() + 1)) {
      std::vector<Choice> here = choose(node, trial, candidates);
      if (here.empty()) continue;
      Bytes left(0);
      for (const Choice& choice : here) left += choice.left;
      if (best.empty() || left < least) best = std::move(here), least = left;
    }
    if (best.empty()) return candidates.refusal();
    std::vector<GpuId> gpus;
    for (const Choice& choice : best) gpus.push_back(choice.gpu);
    return placement_on(trial.cluster(), std::move(gpus));
  }

 private:
  static std::vector<Choice> choose(NodeId node, const Trial& trial, Candidates& candidates) {
    if (candidates.fitting(node) < candidates.wanted()) return {};
    std::vector<GpuId> fitting;
    candidates.append_fitting(node, trial.cluster().node(node).gpus, fitting);
    std::vector<Choice> choices;
    for (const GpuId gpu : fitting) choices.push_back({free_memory(gpu, trial), gpu});
    std::ranges::sort(choices);
    choices.resize(candidates.wanted());
    return choices;
  }

  static Bytes free_memory(GpuId gpu, const Trial& trial) {
    const GpuUse& use = trial.use().gpu(gpu);
    return trial.cluster().gpu(gpu).capacity - use.foreign - use.charged;
  }
};

}  // namespace

std::unique_ptr<Placer> best_fit() { return std::make_unique<BestFit>(); }

}  // namespace berth
