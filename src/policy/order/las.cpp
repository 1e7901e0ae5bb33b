// Least attained service.
#include <array>

#include "policy/policies.hpp"

namespace berth {

constexpr auto kLasKeys = std::to_array<Key>({kQuantumKey});

constexpr About kLas{
    .title = "Least attained service; preemptive.",
    .rule =
        "rank = (GPUs x run time so far, time of submission), with preemption. Any job that fits "
        "may pass a job that does not. A job keeps its GPUs, and its place in the queue, for "
        "`quantum`, because two jobs of equal service would displace each other again and again.",
    .reads = "Attained service, time of submission.",
    .source =
        "Foreground-background (Kleinrock, \"Queueing Systems II\", 1976), with GPUs as the "
        "weight.",
    .differs = "It has no queues; with the queues of Tiresias it is `dlas`.",
    .cost = "O(1) per job.",
    .proof = "None yet.",
    .needs = {.preemption = true},
    .keys = kLasKeys};

namespace {

class Las final : public Order {
 public:
  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.major = job.attained().raw(), .minor = micros(job.in_line_since())},
            .valid_until = std::nullopt,
            .drift = Drift{.per_microsecond = job.gpus().raw()}};
  }
};

}  // namespace

std::unique_ptr<Order> las(const Keys&, const Knobs&) { return std::make_unique<Las>(); }

}  // namespace berth
