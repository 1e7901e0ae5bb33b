// Replays a trace through the engine: the same engine, policies and inputs as live.
//
// Event driven. At one instant: ends, then arrivals, in one step; what the step causes (launches,
// releases) is reported back at the same instant until nothing more happens. A job progresses at
// full speed while it runs; starting, stopping and moving cost nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/cluster.hpp"
#include "core/error.hpp"
#include "core/settings.hpp"
#include "core/time.hpp"
#include "policy/policy.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

struct JobResult {
  std::size_t job = 0;     ///< Index in the trace.
  Instant start = kNever;  ///< First start; kNever: it never ran.
  Instant end = kNever;
  std::int32_t preemptions = 0;
  std::string refused;  ///< Why it was rejected; empty otherwise.
};

struct Result {
  std::vector<JobResult> jobs;  ///< In trace order.
  std::uint64_t steps = 0;
  std::uint64_t dropped = 0;  ///< Invalid decisions; a policy's bug.
};

struct Options {
  Settings settings;
  std::uint64_t seed = 0;
};

/// Runs to the end. Errors: Conflict if jobs are left that the policy never starts.
Expected<Result> simulate(const trace::Trace& trace, const Cluster& cluster,
                          std::unique_ptr<Policy> policy, const Options& options = {});

}  // namespace berth::sim
