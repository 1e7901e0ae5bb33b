// Shortest job first, by estimate.
#include "policy/policies.hpp"

namespace berth {

constexpr About kSjf{
    .title = "Shortest job first by estimate; any job that fits may pass one that does not.",
    .rule =
        "rank = (estimated run time, time of submission), without preemption. The time limit "
        "replaces a missing estimate; a job with neither goes last. Any job that fits may pass a "
        "job that does not.",
    .reads = "Estimate or time limit, time of submission.",
    .source = "Conway, Maxwell and Miller, \"Theory of Scheduling\", 1967.",
    .differs = "Nothing known. The order is only as good as the estimates.",
    .cost = "O(1) per job.",
    .proof = "None yet.",
    .needs = {.estimates = true}};

constexpr About kHeliosSjf = like(
    kSjf,
    {.title = "Shortest job first by estimate; a job that does not fit blocks all jobs behind it.",
     .rule = "rank = (estimated run time, time of submission), without preemption. The time limit "
             "replaces a missing estimate; a job with neither goes last. The first job that does "
             "not fit blocks all jobs behind it.",
     .source = "The baseline SJF of Helios (Hu et al., SC 2021).",
     .differs = "Helios schedules every virtual cluster by itself; here `--virtual-clusters` does "
                "that, and without it the cluster is one.",
     .proof = "None yet. At a load fitted to the published FIFO, mean completion time over that of "
              "FIFO is 0.31 (0.40 published), and mean wait 0.18 (0.08 published), 2.3 times off "
              "(doc/results/helios.md)."});

namespace {

class Sjf final : public Order {
 public:
  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.major = micros(job.estimate()), .minor = micros(job.in_line_since())},
            .valid_until = std::nullopt};
  }
};

}  // namespace

std::unique_ptr<Order> sjf(const Keys&, const Knobs&) { return std::make_unique<Sjf>(); }

}  // namespace berth
