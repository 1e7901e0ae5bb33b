#include "sim/share/stages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "sim/share/share_model.hpp"
#include "sim/spread.hpp"

namespace berth::sim {

namespace {

/// The steps until the stages of the jobs in this order repeat themselves, and how long a round of
/// them then takes.
double round_of(std::span<const StageTimes> group, std::span<const std::size_t> order) {
  constexpr std::size_t kSteps = 8;
  constexpr double kSame = 0.001;
  std::array<double, kSteps + 1> at = {};
  const auto stage = [&](std::size_t step, std::size_t after) -> const StageTimes* {
    const std::size_t index = (step + after) % kMostStaged;
    return index < order.size() ? &group[order[index]] : nullptr;
  };
  for (std::size_t k = 0; k < kSteps; ++k) {
    double next = 0;
    if (const auto* job = stage(k, 1)) next = std::max(next, at[k] + job->stages[2]);
    if (const auto* job = stage(k, 2)) next = std::max(next, at[k] + job->stages[1]);
    const auto* const first = stage(k, 3);
    if (k > 0 && first != nullptr) next = std::max(next, at[k - 1] + first->stages[0]);
    at[k + 1] = next;
    if (k < kMostStaged) continue;
    const double round = at[k + 1] - at[k - 3];
    const double before = at[k] - at[k - 4];
    if (std::abs(round - before) <= kSame * before) return round;
  }
  return at[kSteps] - at[kSteps - kMostStaged];
}

double best_round(std::span<const StageTimes> group) {
  std::vector<std::size_t> order(group.size());
  std::iota(order.begin(), order.end(), 0);
  double best = std::numeric_limits<double>::infinity();
  do {
    best = std::min(best, round_of(group, order));
  } while (std::ranges::next_permutation(order).found);
  if (group.size() == 2) {
    const auto& [a, b] = std::pair(group[0].stages, group[1].stages);
    best = std::min(best, std::max(a[0], b[1] + b[2]) + std::max(b[0], a[1] + a[2]));
  }
  return best;
}

std::optional<StageTimes> times_of(const trace::Iteration& iteration) {
  if (iteration.alone == Duration(0)) return std::nullopt;
  StageTimes times{.alone = in_seconds(iteration.alone)};
  std::ranges::transform(iteration.stages, times.stages.begin(), in_seconds);
  return times;
}

/// The stages of different jobs at once, each on the resource that is its own.
class Stages final : public ShareModel {
 public:
  /// O(tenants + orders of kMostStaged jobs).
  Rate rate(const SharedGpu& gpu) const override {
    std::vector<StageTimes> group;
    double one_by_one = 0;
    for (const std::size_t tenant : gpu.tenants) {
      const auto times = times_of(gpu.trace.jobs[tenant].iteration);
      if (!times) return Rate(Rate::kWhole / std::ssize(gpu.tenants));
      group.push_back(*times);
      one_by_one += times->alone;
    }
    const double together =
        group.size() <= kMostStaged ? iteration_together(group, kMatchedStages) : one_by_one;
    const double alone = in_seconds(gpu.trace.jobs[gpu.who].iteration.alone);
    return std::min(kFullSpeed, Rate(std::llround(alone / together * Rate::kWhole)));
  }
};

std::unique_ptr<const ShareModel> by_stages(const Keys&) { return std::make_unique<Stages>(); }

}  // namespace

constexpr ShareEntry kStages{
    .name = "stages",
    .rule =
        "Its iteration alone / the iteration of the group, in which each job has one: its stages, "
        "on storage, processors and GPU, overlap those of the others, in the order of jobs that is "
        "best. More than four jobs have their iterations one after another, and so have jobs of "
        "which one does not state its stages, as if all were as long.",
    .source =
        "The simulator of Muri (Zhao et al., SIGCOMM 2022), with its factors for what overlapping "
        "costs; traces of format `muri` state the stages.",
    .make = by_stages};

double iteration_together(std::span<const StageTimes> jobs, const StageFactors& factors) {
  return jobs.size() == 1 ? jobs[0].alone : best_round(jobs) * factors[jobs.size()];
}

}  // namespace berth::sim
