// Runs that never end: what is said of them.
#pragma once

#include "core/error.hpp"
#include "sim/headway.hpp"
#include "sim/simulator.hpp"

namespace berth::sim {

/// Jobs are left, and nothing happens any more.
Error never_start(const trace::Trace& trace, const Result& result);
/// Faults have ended this job too often.
Error never_ends(const trace::Trace& trace, const JobResult& job);
/// Jobs are preempted again and again.
Error gets_nowhere(const trace::Trace& trace, const Headway& headway, const Options& options);

}  // namespace berth::sim
