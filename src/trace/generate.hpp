// Workloads made from the published figures of real ones: the same for the same seed, everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/rng.hpp"
#include "trace/trace.hpp"

namespace berth::trace {

/// The most jobs of a generated trace.
inline constexpr std::int64_t kMostGenerated{kMostJobs};

/// Jobs as Microsoft's Philly cluster had them: sizes, run times, groups, and arrivals by the hour
/// of the day and the day of the week. doc/traces.md says what it was fitted to and how well.
/// Requires: 0 <= jobs <= kMostGenerated.
Trace philly_like(std::int64_t jobs, std::uint64_t seed);

/// A run time as Philly's jobs of so many GPUs had them.
Duration philly_run_time(std::int64_t gpus, Rng& rng);

/// Submissions in ascending order: as many as jobs, over `count` hours from a Monday's first, each
/// hour with the part that it had in Philly. Requires: count > 0.
std::vector<Instant> philly_arrivals(std::int64_t jobs, std::int64_t count, Rng rng);

/// The index that falls to a number below the sum of the weights, drawn evenly. Requires: no weight
/// is negative, and their sum is above 0.
std::size_t pick(std::span<const std::int64_t> weights, Rng& rng);

}  // namespace berth::trace
