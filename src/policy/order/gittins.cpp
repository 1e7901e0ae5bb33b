// Gittins index order: 2D-Gittins of Tiresias (Gu et al., NSDI 2019), in the paper's form.
//
// Rule: largest Gittins index of attained service (GPUs x run time) first, over a sample of past
//   jobs' service, with preemption; among equals, first submitted. A job's index is that at its
//   latest sample, so it changes as often as there are samples. Without a sample nothing is known
//   and it is `las`. A job keeps its GPUs, and its place, for a quantum.
// Reads: attained, submitted; knob `service`.
// Differs from the paper: not cut into queues, and budgets end at samples, where the best one lies.
//   The authors' simulator computes another index (`tiresias/dlas-gpu-gittins`).
//   Cost: O(samples^2) once, O(log samples) per job.
#include "policy/kit/gittins.hpp"

#include <algorithm>

#include "policy/registry.hpp"

namespace berth {

namespace {

class Gittins final : public Order {
 public:
  explicit Gittins(const Knobs& knobs) : index_(knobs.service, GittinsForm::Paper) {}

  Ranked rank(const JobView& job, const ClusterView&) const override {
    if (!index_.is_known()) {
      return {.rank = {.major = job.attained().raw(), .minor = micros(job.submitted())},
              .valid_until = std::nullopt,
              .drift = Drift{.per_microsecond = job.gpus().raw()}};
    }
    const std::int64_t attained = job.attained().raw() / micros(seconds(1));
    return {.rank = {.major = -index_.at(attained), .minor = micros(job.submitted())},
            .valid_until = std::nullopt};
  }

 private:
  GittinsIndex index_;
};

}  // namespace

std::unique_ptr<Order> gittins(const Knobs& knobs) { return std::make_unique<Gittins>(knobs); }

}  // namespace berth
