// What a trace's jobs say of themselves when they are submitted, and how fast they come.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/error.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// How far a run time estimate may be from the truth, in percent; nothing: there is none.
using Estimates = std::optional<std::int64_t>;

/// `exact`, `none`, or `+-30%` (also `30%`). Errors: InvalidArgument naming the text and the range,
/// 0 to 99.
Expected<Estimates> parse_estimates(std::string_view text);

/// Sets each job's estimate: its run time times a number drawn evenly from 1 - N% to 1 + N%, the
/// same for a job by seed and place in the trace.
void apply_estimates(trace::Trace& trace, const Estimates& estimates, std::uint64_t seed);

/// Submissions `load` times as close together, from the first one on. Requires: load > 0.
void apply_load(trace::Trace& trace, double load);

}  // namespace berth::sim
