// Replays a trace through the engine: the same engine, policies and inputs as live.
//
// Event driven. At one instant: ends, then arrivals, in one step; what the step causes (launches,
// releases) is reported back at the same instant until nothing more happens. The options
// describe the machine (doc/simulator.md); without any, jobs progress at full speed while they run
// and starting, stopping and moving cost nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/cluster.hpp"
#include "policy/policy.hpp"
#include "sim/memory.hpp"
#include "sim/options.hpp"
#include "sim/running.hpp"
#include "sim/usage.hpp"
#include "sim/waits.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// The failures of a job for lack of GPU memory.
struct MemoryFate {
  std::array<std::int32_t, kOomKinds> ooms{};  ///< Its attempts that died, by kind.
  std::int32_t overruns = 0;                   ///< Attempts ended because it took too much.
  bool failed = false;                         ///< It was not tried again.

  std::int32_t total() const { return std::accumulate(ooms.begin(), ooms.end(), 0); }
};

struct JobResult {
  std::size_t job = 0;     ///< Index in the trace.
  Instant start = kNever;  ///< First start; kNever: it never ran.
  Instant end = kNever;
  Instant over = kNever;     ///< When it left, ended or not.
  Duration told = kForever;  ///< Its estimate in the engine; kForever: none.
  std::int32_t preemptions = 0;
  Spent spent;
  bool timed_out = false;  ///< Ended by its time limit.
  MemoryFate memory;
  std::int32_t faults = 0;  ///< Times a node or GPU failed under it.
  std::string refused;      ///< Why it was rejected; empty otherwise.
  std::vector<GpuId> gpus;  ///< Of its latest attempt.
  NodeId host;              ///< Likewise, the node of the first of them.
};

/// One attempt of a job: what it held, and when.
struct Stretch {
  std::size_t job = 0;  ///< Index in the trace.
  Instant from;
  Instant to = kNever;
  std::vector<GpuId> gpus;
};

struct Result {
  std::vector<JobResult> jobs;     ///< In trace order.
  std::vector<Stretch> stretches;  ///< By start; empty unless they were asked for.
  std::optional<Window> measured;  ///< See Options::measured.
  Use use;                         ///< Of the GPUs, from the first submission until all is over.
  Use arriving;                    ///< Of that, while jobs arrive: see arrivals_of().
  Window arrivals;
  std::uint64_t steps = 0;
  std::uint64_t dropped = 0;       ///< Invalid decisions; a policy's bug.
  bool is_modelled = false;        ///< See Options::is_modelled().
  bool is_perfect = true;          ///< See Options::is_perfect().
  bool lacks_memory = false;       ///< Jobs could run out of GPU memory; its use is known.
  bool knows_loads = false;        ///< For which part of the time GPUs had a kernel.
  bool has_faults = false;         ///< Machines could fail.
  std::optional<Bytes> suspended;  ///< The most of suspended jobs on a node, if that is modelled.
  std::optional<double> cost;      ///< Of the GPUs while they had a tenant, if there are prices.
  std::vector<TypeEnergy> energy;  ///< Of the GPUs, to the last job's end; empty without power.
  std::optional<Predictions> predictions;
  std::optional<WaitTimes> waits;  ///< Why jobs waited, if that was asked for.
};

/// From the first submission to the last, of the measured ones if only those count.
Window arrivals_of(const trace::Trace& trace, const std::optional<Window>& measured);

/// Runs to the end. Errors: Conflict if jobs are left that the policy never starts, one that faults
/// end again and again, or some that are preempted again and again and never get any further.
Expected<Result> simulate(const trace::Trace& trace, const Cluster& cluster,
                          std::unique_ptr<Policy> policy, const Options& options = {});

}  // namespace berth::sim
