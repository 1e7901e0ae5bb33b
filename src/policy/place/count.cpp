// Count: only the number of free GPUs in the cluster matters.
//
// Rule: if enough GPUs anywhere fit, take the first of them, in order of node and index.
// Reads: ask, free GPUs.
// Differs from the paper: nothing known; this is the `count` scheme of the Tiresias simulator (Gu
//   et al., NSDI 2019), which ignores where GPUs are. Cost: O(nodes + GPUs taken).
#include <memory>

#include "policy/kit/candidates.hpp"
#include "policy/registry.hpp"

namespace berth {

namespace {

class Count final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    return ask.gpus() == GpuCount(0) ? candidates.first_host() : candidates.gather_in_order();
  }
  bool is_fungible() const override { return true; }
};

}  // namespace

std::unique_ptr<Placer> count() { return std::make_unique<Count>(); }

}  // namespace berth
