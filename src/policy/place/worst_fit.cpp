// Worst fit by memory: where the most free memory stays behind.
//
// Rule: of the GPUs that fit, those with the most free memory. Within the job's node count: the
//   node whose chosen GPUs leave the most, the first among equals; a job larger than the largest
//   node takes the fitting GPUs of the first nodes until it has enough.
// Reads: ask, free memory per GPU, cores and memory per node.
// Differs from the paper: nothing known; worst fit of bin packing (Johnson, "Near-Optimal Bin
//   Packing Algorithms", MIT 1973) for many bins at once; what Kubernetes calls spreading.
//   Cost: O(GPUs log GPUs per node).
#include <memory>

#include "policy/kit/cheapest.hpp"
#include "policy/registry.hpp"

namespace berth {

namespace {

class WorstFit final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    return place_cheapest(ask, trial, candidates,
                          [&](GpuId gpu) { return Bytes(0) - free_memory(gpu, trial); });
  }
  bool keeps_on_node() const override { return true; }
};

}  // namespace

std::unique_ptr<Placer> worst_fit() { return std::make_unique<WorstFit>(); }

}  // namespace berth
