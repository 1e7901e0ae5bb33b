// Least attained service.
//
// Rule: least attained service (GPUs x run time) first, with preemption; among equals, first
//   submitted. Whoever fits passes a job that does not. Two jobs of equal service would displace
//   each other for ever, so a job keeps its GPUs, and its place in the queue, for a quantum.
// Reads: attained, submitted.
// Differs from the paper: continuous, so without the queues of Tiresias (`dlas`); the rule itself
//   is foreground-background (Kleinrock, "Queueing Systems II", 1976) with GPUs as weight.
//   Cost: O(1) per job.
#include "policy/registry.hpp"

namespace berth {

namespace {

class Las final : public Order {
 public:
  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.major = job.attained().raw(), .minor = micros(job.submitted())},
            .valid_until = std::nullopt,
            .drift = Drift{.per_microsecond = job.gpus().raw()}};
  }
};

}  // namespace

std::unique_ptr<Order> las(const Knobs&) { return std::make_unique<Las>(); }

}  // namespace berth
