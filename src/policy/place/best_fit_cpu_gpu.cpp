// Best fit in two dimensions: cores and GPUs.
#include <memory>

#include "core/base/wide.hpp"
#include "policy/kit/best_node.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kBestFitCpuGpu{
    .title = "Best fit in two dimensions: the node with the fewest cores and GPUs left.",
    .rule =
        "score = floor(100 x (1 - (cores left / C + GPUs left / G) / 2)), where left is after "
        "placing the job, and C and G are the cores and GPUs of the largest node. The node with "
        "the largest score, the first among equals; on it the GPUs with the least room. A job "
        "larger than the largest node takes GPUs of the first nodes.",
    .reads = "Request, cores, compute shares and memory per GPU.",
    .source = "The baseline BestFit of Weng et al., ATC 2023, as in their artifact.",
    .differs = "C and G are constants there: 128 cores and 8 GPUs.",
    .cost = "O(GPUs).",
    .proof =
        "The published figures of Weng et al., ATC 2023: 19,271 of 20,800 to 0.01, 52 of 80 runs "
        "in every figure (doc/results/fgd.md, test/fgd/study_slow_test.cpp)."};

namespace {

std::int64_t closeness(const CpuGpu& left, const CpuGpu& asked, const CpuGpu& most) {
  const Wide both = Wide{2} * most.cpu * most.gpu;
  const Wide behind = Wide{left.cpu - asked.cpu} * most.gpu + Wide{left.gpu - asked.gpu} * most.cpu;
  return static_cast<std::int64_t>(100 * (both - behind) / both);
}

class BestFitCpuGpu final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    return place_by_cpu_and_gpu(ask, job, trial, closeness);
  }
};

}  // namespace

std::unique_ptr<Placer> best_fit_cpu_gpu(const Keys&) { return std::make_unique<BestFitCpuGpu>(); }

}  // namespace berth
