// Discretised least attained service: the 2D-LAS of Tiresias.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "policy/policies.hpp"

namespace berth {

constexpr auto kDlasKeys = std::to_array<Key>({{
    .name = "thresholds",
    .type = KeyType::Service,
    .usual = "3250:7200",
    .least = 1,
    .most = 100'000'000,
    .what = "Attained service at which the queues end.",
}});

constexpr About kDlas{
    .title = "Discretised least attained service: the 2D-LAS of Tiresias; preemptive.",
    .rule =
        "queue = number of `thresholds` at or below GPUs x run time so far. Jobs of a lower queue "
        "go first and displace jobs of a higher one. Inside a queue running jobs go first, then "
        "waiting jobs by time of submission, so jobs of one queue do not displace each other. A "
        "job only moves to higher queues. Any job that fits may pass a job that does not.",
    .reads = "Attained service, GPUs asked for, time of submission, state.",
    .source = "Tiresias (Gu et al., NSDI 2019). The thresholds are those of its simulator.",
    .differs =
        "A starved job is not promoted, and waiting jobs of a queue are ordered by submission, "
        "not by their first start. The authors' simulator (`tiresias/dlas-gpu`) puts a displaced "
        "job at the tail of its queue and ignores places.",
    .cost = "O(log thresholds) per job.",
    .proof = "None yet.",
    .needs = {.preemption = true},
    .keys = kDlasKeys};

namespace {

constexpr std::int64_t kAhead = std::numeric_limits<std::int64_t>::min();  ///< Of running jobs.

class Dlas final : public Order {
 public:
  explicit Dlas(std::vector<GpuTime> thresholds) : thresholds_(std::move(thresholds)) {}

  Ranked rank(const JobView& job, const ClusterView& view) const override {
    const auto queue = std::ranges::upper_bound(thresholds_, job.attained());
    const std::optional<Instant> until = demotion(job, queue, view.now());
    const std::int64_t ahead = holds_berth(job.state()) ? kAhead : 0;
    return {.rank = {.major = queue - thresholds_.begin(),
                     .minor = ahead + micros(job.in_line_since())},
            .valid_until = until,
            .drift = Drift{.until = until.value_or(kNever)}};
  }

 private:
  std::optional<Instant> demotion(const JobView& job, auto queue, Instant now) const {
    if (!holds_berth(job.state()) || queue == thresholds_.end()) return std::nullopt;
    if (job.gpus() == GpuCount(0)) return std::nullopt;          // attains nothing
    return now + ceil_div(*queue - job.attained(), job.gpus());  // earlier would spin
  }
  std::vector<GpuTime> thresholds_;
};

}  // namespace

std::unique_ptr<Order> dlas(const Keys& keys, const Knobs&) {
  std::vector<GpuTime> thresholds;
  for (const std::int64_t end : keys.list("thresholds")) {
    thresholds.push_back(GpuCount(1) * seconds(end));
  }
  return std::make_unique<Dlas>(std::move(thresholds));
}

}  // namespace berth
