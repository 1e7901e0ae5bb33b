#include "core/knowledge/stages.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/wide.hpp"

namespace berth {

namespace {

Duration magnitude(Duration time) { return std::max(time, Duration::zero() - time); }

/// The steps until the stages of the jobs in this order repeat themselves, and how long a round of
/// them then takes.
Duration round_of(std::span<const Iteration> group, std::span<const std::size_t> order) {
  constexpr std::size_t kSteps = 8;
  std::array<Duration, kSteps + 1> at = {};
  const auto stage = [&](std::size_t step, std::size_t after) -> const Iteration* {
    const std::size_t index = (step + after) % kMostStaged;
    return index < order.size() ? &group[order[index]] : nullptr;
  };
  for (std::size_t k = 0; k < kSteps; ++k) {
    Duration next{0};
    if (const auto* job = stage(k, 1)) next = std::max(next, at[k] + job->stages[2]);
    if (const auto* job = stage(k, 2)) next = std::max(next, at[k] + job->stages[1]);
    const auto* const first = stage(k, 3);
    if (k > 0 && first != nullptr) next = std::max(next, at[k - 1] + first->stages[0]);
    at[k + 1] = next;
    if (k < kMostStaged) continue;
    const Duration round = at[k + 1] - at[k - 3];
    const Duration before = at[k] - at[k - 4];
    if (magnitude(round - before) <= before / 1'000) return round;
  }
  return at[kSteps] - at[kSteps - kMostStaged];
}

Duration best_round(std::span<const Iteration> group) {
  std::vector<std::size_t> order(group.size());
  std::iota(order.begin(), order.end(), 0);
  Duration best = kForever;
  do {
    best = std::min(best, round_of(group, order));
  } while (std::ranges::next_permutation(order).found);
  if (group.size() == 2) {
    const auto& [a, b] = std::pair(group[0].stages, group[1].stages);
    best = std::min(best, std::max(a[0], b[1] + b[2]) + std::max(b[0], a[1] + a[2]));
  }
  return best;
}

}  // namespace

std::int64_t iteration_together(std::span<const Iteration> jobs, const StageFactors& factors) {
  if (jobs.size() == 1) return micros(jobs[0].alone) * kPicoseconds;
  const Wide time = Wide{micros(best_round(jobs))} * kPicoseconds * factors[jobs.size()];
  return static_cast<std::int64_t>(time / kUnmatchedStages[1]);
}

}  // namespace berth
