// How long the iterations of jobs take whose stages overlap on the same GPUs.
//
// As in the simulator of Muri (Zhao et al., SIGCOMM 2022; Rivendile/Muri, commit 4e69a78ce7), with
// its floating point.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace berth::sim {

/// Jobs whose stages can overlap.
inline constexpr std::size_t kMostStaged = 4;

/// What one iteration of a job takes alone, and of that each of its stages; in seconds.
struct StageTimes {
  double alone = 0;
  std::array<double, 3> stages = {};
};

/// What the iterations of so many jobs take together over what their stages need.
using StageFactors = std::array<double, kMostStaged + 1>;
/// Of its groups by matching, and of those without.
inline constexpr StageFactors kMatchedStages = {1, 1, 1.33 / 1.015, 1.5 / 1.015, 1.37 / 1.015};
inline constexpr StageFactors kUnmatchedStages = {1, 1, 1.33 / 1.015, 1.5 / 1.015, 1.3 / 1.015};

/// How long each of these jobs takes for one iteration beside the others, in seconds: they start
/// their stages one after another, in the order of jobs that is best. Alone: `alone`. Requires: one
/// job to kMostStaged. O(jobs! x stages).
double iteration_together(std::span<const StageTimes> jobs, const StageFactors& factors);

}  // namespace berth::sim
