// The options of the simulated machine: one table, for every verb that replays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "sim/simulator.hpp"
#include "trace/trace.hpp"

namespace CLI {
class App;
}

namespace berth::cli {

struct MachineArguments {
  std::string share = "free";
  std::string utilisation = "100%";
  std::vector<std::string> speeds;
  std::string told_speeds = "exact";
  std::string reference = "v100";
  std::string spread_penalty = "0%";
  std::string start_latency;  ///< "": none, as all of these.
  std::string restart_cost;
  std::string stop_latency;
  std::string checkpoint;
  std::string suspend_back = "any";
  std::string suspendable = "all";
  std::string suspend_fails = "0%";
  std::string host_memory;
  std::string suspend_rate;
  std::string bounds = "3,1h";
  std::string memory_error;
  std::string memory_ramp;
  std::int32_t retries = 2;
  std::string foreign;
  std::string vram_shrink;
  std::string probe;
  std::string faults;
  std::string price;
  std::string power;
  std::string programs;
  std::string progress;
  bool dependencies = false;
};

void add_machine_options(CLI::App& verb, MachineArguments& arguments);

/// Reads the arguments into `options`; changes the jobs of the trace if an option concerns them
/// (`--share exclusive`). Errors: of reading each file; InvalidArgument naming the option.
Expected<void> read_machine(const MachineArguments& arguments, trace::Trace& trace,
                            sim::Options& options);

}  // namespace berth::cli
