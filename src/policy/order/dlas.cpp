// Discretised least-attained-service order: the 2D-LAS of Tiresias (Gu et al., NSDI 2019).
//
// Rule: attained service (GPUs x run time) puts a job in a queue; lower queues go first. Inside
//   one, who runs goes on, and who waits goes in order of submission: only a job of a lower queue
//   displaces. A job only moves down, when its service reaches a threshold: 3,250 and 7,200
//   GPU-seconds, as in the authors' simulator, or those it is given (key `thresholds`).
// Reads: attained, gpus, submitted, state.
// Differs from the paper: no promotion of starved jobs, and inside a queue submission orders those
//   that wait, not the first start. The authors' own order is `tiresias/dlas-gpu`: who had to give
//   way goes to the tail of its queue, and places do not matter.
//   Cost: O(log thresholds) per job.
#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "policy/registry.hpp"

namespace berth {

namespace {

constexpr std::int64_t kAhead = std::numeric_limits<std::int64_t>::min();  ///< Who runs.

class Dlas final : public Order {
 public:
  explicit Dlas(std::vector<GpuTime> thresholds) : thresholds_(std::move(thresholds)) {}

  Ranked rank(const JobView& job, const ClusterView& view) const override {
    const auto queue = std::ranges::upper_bound(thresholds_, job.attained());
    const std::optional<Instant> until = demotion(job, queue, view.now());
    const std::int64_t ahead = holds_berth(job.state()) ? kAhead : 0;
    return {
        .rank = {.major = queue - thresholds_.begin(), .minor = ahead + micros(job.submitted())},
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

std::unique_ptr<Order> dlas(const Knobs& knobs) {
  static constexpr std::array<std::int64_t, 2> kPublished = {3250, 7200};
  std::vector<GpuTime> thresholds;
  for (const std::int64_t end :
       knobs.thresholds.empty() ? std::span<const std::int64_t>(kPublished) : knobs.thresholds) {
    thresholds.push_back(GpuCount(1) * seconds(end));
  }
  return std::make_unique<Dlas>(std::move(thresholds));
}

}  // namespace berth
