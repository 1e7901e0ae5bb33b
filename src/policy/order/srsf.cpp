// Shortest remaining service first: SRTF in two dimensions.
#include <limits>

#include "policy/policies.hpp"

namespace berth {

constexpr About kSrsf{
    .title = "Shortest remaining service first: SRTF in two dimensions; preemptive.",
    .rule =
        "rank = (estimated remaining time x GPUs, time of submission), with preemption. A job "
        "without "
        "an estimate goes last. Any job that fits may pass a job that does not.",
    .reads = "Remaining time, GPUs asked for, time of submission.",
    .source = "The two-dimensional form that Tiresias (Gu et al., NSDI 2019) compares with.",
    .differs =
        "Nothing known. The simulator of Tiresias sorts differently (`tiresias/shortest-gpu`).",
    .cost = "O(1) per job.",
    .proof = "None yet.",
    .needs = {.preemption = true, .estimates = true}};

namespace {

class Srsf final : public Order {
 public:
  Ranked rank(const JobView& job, const ClusterView& view) const override {
    return {.rank = {.major = remaining_service(job), .minor = micros(job.in_line_since())},
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

std::unique_ptr<Order> srsf(const Keys&, const Knobs&) { return std::make_unique<Srsf>(); }

}  // namespace berth
