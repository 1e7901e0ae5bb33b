// Smallest job first.
//
// Rule: fewest GPUs first; among equals, first submitted. Whoever fits passes a job that does not.
// Reads: gpus, submitted.
// Differs from the paper: nothing known; smallest number of processes first (Majumdar, Eager, Bunt,
//   "Scheduling in multiprogrammed parallel systems", SIGMETRICS 1988). Cost: O(1) per job.
#include "policy/registry.hpp"

namespace berth {

namespace {

class SmallestFirst final : public Order {
 public:
  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.major = job.gpus().raw(), .minor = micros(job.submitted())},
            .valid_until = std::nullopt};
  }
};

}  // namespace

std::unique_ptr<Order> smallest_first(const Knobs&) { return std::make_unique<SmallestFirst>(); }

}  // namespace berth
