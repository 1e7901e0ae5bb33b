// Workloads made from the published figures of real ones: the same for the same seed, everywhere.
#pragma once

#include <cstdint>

#include "trace/trace.hpp"

namespace berth::trace {

/// The most jobs of a generated trace.
inline constexpr std::int64_t kMostGenerated{kMostJobs};

/// Jobs as Microsoft's Philly cluster had them: sizes, run times, groups, and arrivals by the hour
/// of the day and the day of the week. doc/traces.md says what it was fitted to and how well.
/// Requires: 0 <= jobs <= kMostGenerated.
Trace philly_like(std::int64_t jobs, std::uint64_t seed);

}  // namespace berth::trace
