// GPU clustering: jobs of one kind together.
#include <memory>

#include "policy/kit/best_node.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kGpuClustering{
    .title = "GPU clustering: jobs of the same number of GPUs on the same nodes.",
    .rule =
        "kind of a job = its number of GPUs, 0 if it shares one. Nodes are preferred in this "
        "order: only the job's kind runs there; its kind and others; no job; other kinds only. "
        "Within these the node with the least free GPU capacity, in steps of a 25th of the largest "
        "node's, the first among equals; on it the GPUs with the least room. A job without GPUs "
        "goes to the first host, and one larger than the largest node to GPUs of the first nodes.",
    .reads = "Request, gang sizes, compute shares and memory per GPU.",
    .source = "The baseline GpuClustering of Weng et al., ATC 2023, as in their artifact.",
    .differs = "Nothing known.",
    .cost = "O(GPUs).",
    .proof =
        "The published figures of Weng et al., ATC 2023: 19,365 of 20,800 to 0.01, 52 of 80 runs "
        "in every figure (doc/results/fgd.md, test/fgd/study_slow_test.cpp)."};

namespace {

/// How many whole GPUs a job takes; 0 for one that shares.
using Kind = std::int64_t;

class GpuClustering final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    const Kind kind = ask.alone() ? ask.gpus().raw() : 0;
    const std::int64_t most = largest_node(trial.cluster()).gpu;
    return place_best(ask, trial, candidates, [&](NodeId node) -> std::int64_t {
      if (ask.gpus() == GpuCount(0)) return 0;
      const std::int64_t fullness =
          25 * std::max<std::int64_t>(0, most - free_share(node, trial)) / most;
      return fullness + 25 * company(node, kind, trial);
    });
  }

 private:
  /// 3 where only this kind runs, 2 where it does too, 1 on an idle node, else 0.
  static std::int64_t company(NodeId node, Kind own, const Trial& trial) {
    const NodeSpec& spec = trial.cluster().node(node);
    bool has_own = false;
    bool has_other = false;
    for (const GpuId gpu : spec.gpu_ids()) {
      const GpuUse& use = trial.use().gpu(gpu);
      if (use.tenants > 0) (use.gang == own ? has_own : has_other) = true;
    }
    if (has_own) return has_other ? 2 : 3;
    return has_other ? 0 : 1;
  }
};

}  // namespace

std::unique_ptr<Placer> gpu_clustering(const Keys&) { return std::make_unique<GpuClustering>(); }

}  // namespace berth
