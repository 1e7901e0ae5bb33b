// First in, first out.
//
// Rule: jobs go in order of submission.
// Reads: submitted.
// Differs from the paper: nothing known (folklore). What happens behind a job that does not fit is
// the
//   pipeline's choice: `fifo` blocks, `fifo-skip` passes, `fifo-reserve` passes without delaying
//   it, and `exclusive` is `fifo-skip` with every GPU for one job alone. Cost: O(1) per job.
#include "policy/registry.hpp"

namespace berth {

namespace {

class Fifo final : public Order {
 public:
  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.major = micros(job.submitted())}, .valid_until = std::nullopt};
  }
};

}  // namespace

std::unique_ptr<Order> fifo(const Knobs&) { return std::make_unique<Fifo>(); }

}  // namespace berth
