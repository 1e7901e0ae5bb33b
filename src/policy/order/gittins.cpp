// Gittins index order: 2D-Gittins of Tiresias, in the paper's form.
#include "policy/kit/gittins.hpp"

#include <algorithm>
#include <array>

#include "policy/policies.hpp"

namespace berth {

constexpr auto kGittinsKeys = std::to_array<Key>({kQuantumKey});

constexpr About kGittins{
    .title = "Tiresias' 2D-Gittins, in the paper's form, over a sample of past jobs; preemptive.",
    .rule =
        "rank = (-Gittins index of GPUs x run time so far, time of submission), with preemption. "
        "The index is computed from a sample of the service of past jobs (`--service`), at the "
        "largest sample that the job has reached. Without a sample the policy is `las`. A job "
        "keeps its GPUs, and its place in the queue, for `quantum`.",
    .reads = "Attained service, time of submission, the sample of service.",
    .source = "Tiresias (Gu et al., NSDI 2019).",
    .differs =
        "The index is not divided into queues. Only samples are tried as budgets, because the best "
        "budget is one. The authors' simulator computes another index "
        "(`tiresias/dlas-gpu-gittins`).",
    .cost = "O(samples^2) once, O(log samples) per job.",
    .proof =
        "Of the index only: distributions whose index theory gives "
        "(test/policy/gittins_test.cpp).",
    .needs = {.preemption = true, .samples = true},
    .keys = kGittinsKeys};

namespace {

class Gittins final : public Order {
 public:
  explicit Gittins(const Knobs& knobs) : index_(knobs.service, GittinsForm::Paper) {}

  Ranked rank(const JobView& job, const ClusterView&) const override {
    if (!index_.is_known()) {
      return {.rank = {.major = job.attained().raw(), .minor = micros(job.in_line_since())},
              .valid_until = std::nullopt,
              .drift = Drift{.per_microsecond = job.gpus().raw()}};
    }
    const std::int64_t attained = job.attained().raw() / micros(seconds(1));
    return {.rank = {.major = -index_.at(attained), .minor = micros(job.in_line_since())},
            .valid_until = std::nullopt};
  }

 private:
  GittinsIndex index_;
};

}  // namespace

std::unique_ptr<Order> gittins(const Keys&, const Knobs& knobs) {
  return std::make_unique<Gittins>(knobs);
}

}  // namespace berth
