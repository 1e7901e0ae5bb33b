// Dot product: the node whose free cores and GPUs are least aligned with what is asked.
//
// Rule: the node with the largest 100 x (1 - (cores free x asked / C^2 + GPUs free x asked / G^2)
//   / 2), in whole numbers, the first among equals; C and G are of the largest node. On it the GPUs
//   with the least to spare. A job larger than the largest node takes GPUs of the first nodes.
// Reads: ask, cores, compute shares and memory per GPU.
// Differs from the paper: Tetris (Grandl et al., SIGCOMM 2014) takes the largest product of all
//   resources; this is the baseline DotProd of Weng et al., ATC 2023, which takes the smallest, of
//   cores and merged GPUs (`merge`, `max` of their artifact: 128 cores, 8 GPUs). Cost: O(GPUs).
#include <memory>

#include "core/wide.hpp"
#include "policy/kit/best_node.hpp"
#include "policy/registry.hpp"

namespace berth {

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

std::unique_ptr<Placer> dot_prod() { return std::make_unique<DotProd>(); }

}  // namespace berth
