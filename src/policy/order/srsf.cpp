// Shortest remaining service first: SRTF in two dimensions.
//
// Rule: least remaining time x GPUs first, with preemption; a job without an estimate goes last;
//   among equals, first submitted. Whoever fits passes a job that does not.
// Reads: remaining, gpus, submitted.
// Differs from the paper: nothing known; the 2D form that Tiresias (Gu et al., NSDI 2019) compares
//   with. Cost: O(1) per job.
#include <limits>

#include "policy/registry.hpp"

namespace berth {

namespace {

class Srsf final : public Order {
 public:
  Ranked rank(const JobView& job, const ClusterView& view) const override {
    return {.rank = {.major = remaining_service(job), .minor = micros(job.submitted())},
            .valid_until = std::nullopt,  // a running job only improves
            .drift = drift(job, view.now())};
  }

 private:
  static std::optional<Drift> drift(const JobView& job, Instant now) {
    const std::int64_t service = remaining_service(job);
    if (job.remaining() == kForever || service == 0) return Drift{};
    if (service == std::numeric_limits<std::int64_t>::max()) return std::nullopt;  // cut off
    return Drift{.per_microsecond = -job.gpus().raw(), .until = later(now, job.remaining())};
  }
  static std::int64_t remaining_service(const JobView& job) {
    if (job.remaining() == kForever) return std::numeric_limits<std::int64_t>::max();
    return (job.gpus() * job.remaining()).raw();
  }
};

}  // namespace

std::unique_ptr<Order> srsf(const Knobs&) { return std::make_unique<Srsf>(); }

}  // namespace berth
