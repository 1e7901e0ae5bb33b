// GPU packing: GPUs in use first, then free GPUs of nodes in use, free nodes last.
#include <memory>
#include <vector>

#include "policy/kit/best_node.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kGpuPacking{
    .title = "GPU packing: GPUs in use first, then free GPUs of nodes in use, free nodes last.",
    .rule =
        "score = 100 - percent free on the GPUs to be taken / 10, if GPUs in use suffice; else 50 "
        "- free GPUs to be taken, on a node in use; else 33 - GPUs of the node. The largest score, "
        "the first among equals; on that node the GPUs with the least room. A job without GPUs "
        "goes to the first host, and one larger than the largest node to GPUs of the first nodes.",
    .reads = "Request, compute shares and memory per GPU.",
    .source = "The baseline GpuPacking of Weng et al., ATC 2023, as in their artifact.",
    .differs = "Nothing known.",
    .cost = "O(GPUs log GPUs per node).",
    .proof =
        "The published figures of Weng et al., ATC 2023: 19,326 of 20,800 to 0.01, 53 of 80 runs "
        "in every figure (doc/results/fgd.md, test/fgd/study_slow_test.cpp)."};

namespace {

class GpuPacking final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    std::vector<GpuId> chosen;
    return place_best(ask, trial, candidates, [&](NodeId node) -> std::int64_t {
      if (ask.gpus() == GpuCount(0)) return 0;
      const std::int64_t gpus = trial.cluster().node(node).gpus;
      if (free_share(node, trial) == gpus * kWholeShare)
        return std::max<std::int64_t>(33 - gpus, 0);
      fullest_gpus(node, trial, candidates, chosen);
      return score(chosen, trial);
    });
  }

 private:
  /// Of a node in use.
  static std::int64_t score(const std::vector<GpuId>& chosen, const Trial& trial) {
    std::int64_t free_gpus = 0;
    std::int64_t percent = 0;
    for (const GpuId gpu : chosen) {
      const std::int64_t share = free_share(gpu, trial);
      if (share == kWholeShare) ++free_gpus;
      percent += share * 100 / kWholeShare;
    }
    if (free_gpus > 0) return std::max<std::int64_t>(50 - free_gpus, 33);
    return std::max<std::int64_t>(100 - percent / 10, 50);
  }
};

}  // namespace

std::unique_ptr<Placer> gpu_packing(const Keys&) { return std::make_unique<GpuPacking>(); }

}  // namespace berth
