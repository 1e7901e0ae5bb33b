// The effects of an imperfect machine on a run: the use of GPU time. doc/metrics.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "sim/simulator.hpp"
#include "sim/spread.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// All jobs count, ended or not.
struct MachineFigures {
  double gpu_hours = 0;           ///< GPUs x time they were held.
  double shared_gpu_hours = 0;    ///< Of those, beside another job.
  double ruled_gpu_hours = 0;     ///< Of all: at a speed of which some is by rule, not measured.
  double overhead_gpu_hours = 0;  ///< Of all: starting, restoring, saving.
  double lost_gpu_hours = 0;      ///< Work at full speed that was done in vain.
  std::int64_t timed_out = 0;     ///< Jobs that their time limit ended.
  std::array<std::int64_t, kOomKinds> ooms{};  ///< Attempts that died, by kind.
  std::optional<double> cost;                  ///< In the prices' own money.
  std::vector<TypeEnergy> energy;              ///< By type; empty if no power was given.
  bool is_perfect = true;          ///< Nothing slowed jobs or stopped them: not worth a line,
  bool lacks_memory = false;       ///< but that they could run out of memory is,
  bool has_faults = false;         ///< and that machines could fail.
  std::int64_t faults = 0;         ///< Attempts that died of one.
  std::int64_t overruns = 0;       ///< Attempts ended because the job took too much.
  std::int64_t out_of_memory = 0;  ///< Jobs that were not tried again.
  double preemptions_a_job = 0;    ///< Of those that ran.
  std::optional<Bytes> suspended;  ///< See Result::suspended.
};

MachineFigures machine_figures(const trace::Trace& trace, const Result& result);

nlohmann::ordered_json to_json(const MachineFigures& figures, const Spread& run_over_alone);
/// A few lines, of what the options can have caused.
std::string to_text(const MachineFigures& figures, const Spread& run_over_alone);

}  // namespace berth::sim
