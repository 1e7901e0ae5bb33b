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
  Ranked rank(const JobView& job, const ClusterView& view) const override {
    return {.rank = {.major = micros(job.remaining()), .minor = micros(job.submitted())},
            .valid_until = std::nullopt,  // a running job only improves
            .drift = drift(job.remaining(), view.now())};
  }

 private:
  static Drift drift(Duration remaining, Instant now) {
    const bool is_constant = remaining == kForever || remaining == Duration::zero();
    return is_constant ? Drift{} : Drift{.per_microsecond = -1, .until = later(now, remaining)};
  }
};

}  // namespace

std::unique_ptr<Order> srtf(const Knobs&) { return std::make_unique<Srtf>(); }

}  // namespace berth
