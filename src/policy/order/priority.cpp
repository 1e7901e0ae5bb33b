// The largest priority first.
#include "policy/policies.hpp"

namespace berth {

constexpr About kPriority{
    .title = "The largest priority first (`--priority`) with EASY backfilling.",
    .rule =
        "rank = (priority, largest first; time of submission), with backfill `easy`. The user "
        "states the priority, 0 unless stated, and may change it while the job waits (`berth "
        "update`). Nothing bounds what a user states or how long a job of a low priority waits.",
    .reads = "Priority, time of submission; time limit or else estimate, run time.",
    .source = "Folklore.",
    .differs = "Nothing known.",
    .cost = "O(1) per job.",
    .proof = "None yet."};

namespace {

class Priority final : public Order {
 public:
  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.major = -std::int64_t{job.spec().priority}, .minor = micros(job.submitted())},
            .valid_until = std::nullopt};
  }
};

}  // namespace

std::unique_ptr<Order> priority(const Keys&, const Knobs&) { return std::make_unique<Priority>(); }

}  // namespace berth
