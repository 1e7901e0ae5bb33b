// Best fit in two dimensions: the node where the least cores and GPUs stay behind.
//
// Rule: the node with the largest 100 x (1 - (cores left / C + GPUs left / G) / 2), in whole
//   numbers, the first among equals; left is after placing, C and G are of the largest node. On it
//   the GPUs with the least to spare. A job larger than the largest node takes GPUs of the first
//   nodes.
// Reads: ask, cores, compute shares and memory per GPU.
// Differs from the paper: nothing known; the baseline BestFit of Weng et al., ATC 2023, as their
//   artifact has it, whose C and G are constants: 128 cores, 8 GPUs. Cost: O(GPUs).
#include <memory>

#include "core/wide.hpp"
#include "policy/kit/best_node.hpp"
#include "policy/registry.hpp"

namespace berth {

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

std::unique_ptr<Placer> best_fit_cpu_gpu() { return std::make_unique<BestFitCpuGpu>(); }

}  // namespace berth
