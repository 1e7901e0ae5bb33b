// Shortest job first.
//
// Rule: shortest estimated run time first, without preemption; a job without an estimate or a time
//   limit goes last; among equals, first submitted. Behind a job that does not fit `sjf` lets
//   whoever fits pass, `helios/sjf` nobody.
// Reads: estimate (or time limit), submitted.
// Differs from the paper: nothing known (Conway, Maxwell, Miller, "Theory of Scheduling", 1967). It
//   is only as good as the estimates. `helios/sjf` is what Helios (Hu et al., SC 2021) compares
//   with, clusters whole, not per virtual cluster: doc/results/helios.md. Cost: O(1) per job.
#include "policy/registry.hpp"

namespace berth {

namespace {

class Sjf final : public Order {
 public:
  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.major = micros(job.estimate()), .minor = micros(job.submitted())},
            .valid_until = std::nullopt};
  }
};

}  // namespace

std::unique_ptr<Order> sjf(const Knobs&) { return std::make_unique<Sjf>(); }

}  // namespace berth
