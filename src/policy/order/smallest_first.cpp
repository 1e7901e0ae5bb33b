// Smallest job first.
#include "policy/policies.hpp"

namespace berth {

constexpr About kSmallestFirst{
    .title = "Smallest job first; any job that fits may pass one that does not.",
    .rule =
        "rank = (GPUs asked for, time of submission). Any job that fits may pass a job that does "
        "not.",
    .reads = "GPUs asked for, time of submission.",
    .source =
        "Majumdar, Eager and Bunt, \"Scheduling in multiprogrammed parallel systems\", SIGMETRICS "
        "1988 (smallest number of processes first).",
    .differs = "Nothing known.",
    .cost = "O(1) per job.",
    .proof = "None yet."};

namespace {

class SmallestFirst final : public Order {
 public:
  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.major = job.gpus().raw(), .minor = micros(job.in_line_since())},
            .valid_until = std::nullopt};
  }
};

}  // namespace

std::unique_ptr<Order> smallest_first(const Keys&, const Knobs&) {
  return std::make_unique<SmallestFirst>();
}

}  // namespace berth
