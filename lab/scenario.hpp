// One scenario, a trace and a cluster, live and simulated.
#pragma once

#include <cstdint>
#include <string>

namespace berth::lab {

struct ScenarioOptions {
  std::string trace;    ///< In berth's own format.
  std::string cluster;  ///< NODESxGPUS or a file; one node of equal GPUs.
  std::string policy = "headroom";
  std::string admission = "guarantee";
  std::int64_t faster = 1;                ///< How many times as fast as in the trace.
  std::int64_t interference_percent = 0;  ///< Of kernels that share a GPU: doc/emulator.md.
  double kill_every = 0;  ///< Seconds after which berthd is killed, again and again; 0: never.
  bool json = false;
};

/// Runs both and prints their figures, and live over simulated for each. Returns: 0 if both were
/// run.
int run_scenario(const ScenarioOptions& options);

struct WorkloadOptions {
  std::uint64_t seed = 1;
  std::string out;
};

/// Writes the jobs of the evaluation as a trace. Returns: 0 if it was written.
int write_workload(const WorkloadOptions& options);

}  // namespace berth::lab
