// Shortest remaining time first.
#include "policy/policies.hpp"

namespace berth {

constexpr About kSrtf{
    .title = "Shortest remaining time first; preemptive.",
    .rule =
        "rank = (estimated remaining time, time of submission), with preemption. A job without an "
        "estimate goes last. Any job that fits may pass a job that does not.",
    .reads = "Remaining time, time of submission.",
    .source =
        "Schrage, \"A proof of the optimality of the shortest remaining processing time "
        "discipline\", Operations Research 1968.",
    .differs = "The source is about one machine.",
    .cost = "O(1) per job.",
    .proof =
        "None yet. Beside the SRTF of Helios (Hu et al., SC 2021), at a load fitted to the "
        "published FIFO, mean completion time over that of FIFO is 0.30 (0.36 published), and mean "
        "wait 0.16 (0.02 published), 8 times off (doc/results/helios.md).",
    .needs = {.preemption = true, .estimates = true}};

namespace {

class Srtf final : public Order {
 public:
  Ranked rank(const JobView& job, const ClusterView& view) const override {
    return {.rank = {.major = micros(job.remaining()), .minor = micros(job.in_line_since())},
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

std::unique_ptr<Order> srtf(const Keys&, const Knobs&) { return std::make_unique<Srtf>(); }

}  // namespace berth
