// How long iterations of training take beside each other on shared GPUs, if their stages, which use
// different resources, are at work at once.
//
// As in the simulator of Muri (Zhao et al., SIGCOMM 2022; Rivendile/Muri, commit 4e69a78ce7), in
// whole numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include "core/base/time.hpp"

namespace berth {

/// What one iteration of a job takes alone, and of that each of its stages.
struct Iteration {
  /// Of it and of each stage at most.
  static constexpr Duration kMost = hours(1);

  Duration alone{0};                    ///< Zero: not stated.
  std::array<Duration, 3> stages = {};  ///< Muri's resource_time_0 to 2.

  bool operator==(const Iteration&) const = default;
};
inline auto members(Iteration& v) {
  return std::tie(v.alone, v.stages[0], v.stages[1], v.stages[2]);
}

/// Jobs whose stages can overlap.
inline constexpr std::size_t kMostStaged = 4;

/// What the iterations of so many jobs take together over what their stages need, in thousandths of
/// 1.015, which is what an iteration alone takes over the sum of its stages.
using StageFactors = std::array<std::int64_t, kMostStaged + 1>;
/// Of Muri's groups by matching, and of those without.
inline constexpr StageFactors kMatchedStages = {1015, 1015, 1330, 1500, 1370};
inline constexpr StageFactors kUnmatchedStages = {1015, 1015, 1330, 1500, 1300};

inline constexpr std::int64_t kPicoseconds = 1'000'000;  ///< Of a microsecond.

/// How long each of these jobs takes for one iteration beside the others, in picoseconds, since
/// jobs do millions of them: they start their stages one after another, in the order of jobs that
/// is best. Alone: `alone`. Requires: one job to kMostStaged, none above Iteration::kMost. O(jobs!
/// x stages).
std::int64_t iteration_together(std::span<const Iteration> jobs, const StageFactors& factors);

}  // namespace berth
