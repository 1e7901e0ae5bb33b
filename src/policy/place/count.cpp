// Count: only the number of free GPUs in the cluster matters.
#include <memory>

#include "policy/kit/candidates.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kCount{
    .title = "Count: only the number of free GPUs in the cluster matters.",
    .rule = "If enough GPUs of the cluster fit, the first of them, in order of node and index.",
    .reads = "Request, free GPUs.",
    .source =
        "The scheme `count` of the simulator of Tiresias (Gu et al., NSDI 2019), which ignores "
        "where GPUs are.",
    .differs = "Nothing known.",
    .cost = "O(nodes + GPUs taken).",
    .proof =
        "Every start and end of that simulator's own runs with `count`, under nine of its policies "
        "(test/sim/tiresias_oracle_test.cpp)."};

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

std::unique_ptr<Placer> count(const Keys&) { return std::make_unique<Count>(); }

}  // namespace berth
