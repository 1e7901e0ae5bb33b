// Dot product: the node whose free cores and GPUs are least aligned with the request.
#include <memory>

#include "core/base/wide.hpp"
#include "policy/kit/best_node.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kDotProd{
    .title = "Dot product: the node whose free cores and GPUs are least aligned with the request.",
    .rule =
        "score = floor(100 x (1 - (cores free x cores asked / C^2 + GPUs free x GPUs asked / G^2) "
        "/ 2)), where C and G are the cores and GPUs of the largest node. The node with the "
        "largest score, the first among equals; on it the GPUs with the least room. A job larger "
        "than the largest node takes GPUs of the first nodes.",
    .reads = "Request, cores, compute shares and memory per GPU.",
    .source =
        "The baseline DotProd of Weng et al., ATC 2023 (`merge`, `max` of their artifact), after "
        "Tetris (Grandl et al., SIGCOMM 2014).",
    .differs =
        "Tetris takes the largest product of all resources; the baseline takes the smallest, of "
        "cores and merged GPUs. C and G are constants there: 128 cores and 8 GPUs.",
    .cost = "O(GPUs).",
    .proof =
        "The published figures of Weng et al., ATC 2023: 19,350 of 20,800 to 0.01, 52 of 80 runs "
        "in every figure (doc/results/fgd.md, test/fgd/study_slow_test.cpp)."};

namespace {

std::int64_t dot_product(const CpuGpu& left, const CpuGpu& asked, const CpuGpu& most) {
  const Wide cpu = Wide{most.cpu} * most.cpu;
  const Wide gpu = Wide{most.gpu} * most.gpu;
  const Wide both = 2 * cpu * gpu;
  const Wide product = Wide{left.cpu} * asked.cpu * gpu + Wide{left.gpu} * asked.gpu * cpu;
  return static_cast<std::int64_t>(100 * (both - product) / both);
}

class DotProd final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    return place_by_cpu_and_gpu(ask, job, trial, dot_product);
  }
};

}  // namespace

std::unique_ptr<Placer> dot_prod(const Keys&) { return std::make_unique<DotProd>(); }

}  // namespace berth
