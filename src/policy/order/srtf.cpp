// Shortest remaining time first.
//
// Rule: least estimated time to go first, with preemption; a job without an estimate goes last;
//   among equals, first submitted. Whoever fits passes a job that does not.
// Reads: remaining, submitted.
// Differs from the paper: nothing known (Schrage, "A proof of the optimality of the shortest
//   remaining processing time discipline", Operations Research 1968, is for one machine).
//   Cost: O(1) per job.
#include "policy/registry.hpp"

namespace berth {

namespace {

class Srtf final : public Order {
 public:
  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.major = micros(job.remaining()), .minor = micros(job.submitted())},
            .valid_until = std::nullopt};  // a running job only improves
  }
};

}  // namespace

std::unique_ptr<Order> srtf(const Knobs&) { return std::make_unique<Srtf>(); }

}  // namespace berth
