// Best fit by memory: where the least free memory stays behind.
//
// Rule: of the GPUs that fit, those with the least free memory. Within the job's node count: the
//   node whose chosen GPUs leave the least, the first among equals; a job larger than the largest
//   node takes the fitting GPUs of the first nodes until it has enough.
// Reads: ask, free memory per GPU, cores and memory per node.
// Differs from the paper: nothing known; best fit of bin packing (Johnson, "Near-Optimal Bin
//   Packing Algorithms", MIT 1973) for many bins at once. Cost: O(GPUs log GPUs per node).
#include <memory>

#include "policy/kit/cheapest.hpp"
#include "policy/registry.hpp"

namespace berth {

namespace {

class BestFit final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    return place_cheapest(ask, trial, candidates,
                          [&](GpuId gpu) { return free_memory(gpu, trial); });
  }
  bool keeps_on_node() const override { return true; }
};

}  // namespace

std::unique_ptr<Placer> best_fit() { return std::make_unique<BestFit>(); }

}  // namespace berth
