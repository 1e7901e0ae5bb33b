// First in, first out.
//
// Rule: jobs go in order of submission. What happens behind one that does not fit: `fifo` and
//   `tiresias/fifo` let nobody pass, `fifo-skip` and `tiresias/fjf` whoever fits, `fifo-reserve`
//   whoever does not delay it, and `exclusive` is `fifo-skip` with every GPU for one job alone.
// Reads: submitted; `fifo-reserve` also limits, else estimates.
// Differs from the paper: nothing known (folklore). `tiresias/fifo` and `tiresias/fjf` (first that
//   fits) are those of the simulator of Tiresias (Gu et al., NSDI 2019). Cost: O(1) per job.
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
