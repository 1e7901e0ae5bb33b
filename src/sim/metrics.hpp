// What a run is judged by. Definitions: JCT = end - submit; wait = JCT - run time; slowdown = JCT /
// run time alone, which counts as 10 s at least (bounded slowdown, Feitelson and Rudolph 1998);
// makespan = last end - first submit; throughput = what ended over the makespan; percentiles by
// linear interpolation between closest ranks; fairness = Jain's index of the users' mean slowdowns,
// 1 when all are alike. doc/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/machine_figures.hpp"
#include "sim/prediction_report.hpp"
#include "sim/simulator.hpp"
#include "sim/spread.hpp"
#include "sim/wait_report.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// How good the estimates were that the engine was told, by run time alone. Shares of all jobs that
/// ran to their end.
struct EstimateFigures {
  double known = 0;       ///< Those with an estimate:
  double close = 0;       ///< from half to twice the truth,
  double shorter = 0;     ///< less than half,
  double longer = 0;      ///< more than twice.
  bool are_exact = true;  ///< Every one of them is the truth.
};

struct Metrics {
  std::size_t jobs = 0;  ///< That ran to their end.
  std::size_t rejected = 0;
  std::size_t timed_out = 0;  ///< Ended by their time limits.
  Spread jct;                 ///< Seconds.
  Spread wait;                ///< Seconds.
  Spread slowdown;            ///< No unit.
  Spread run_over_alone;      ///< Time with GPUs over run time alone, each 10 s at least; no unit.
  double fairness = 1;
  double makespan = 0;       ///< Seconds.
  double jobs_per_hour = 0;  ///< Of the makespan.
  double work_per_hour = 0;  ///< GPU-hours of run time alone of the jobs that ended, likewise.
  double allocated = 0;      ///< GPU time granted over GPUs x makespan; 0 to 1.
  std::int64_t preemptions = 0;
  std::int64_t ooms = 0;
  std::optional<MachineFigures> machine;
  EstimateFigures estimates;
  std::optional<PredictionFigures> predictions;
  std::vector<WaitFigure> waits;  ///< Why jobs waited; empty if that was not asked for.
};

Metrics measure(const trace::Trace& trace, const Cluster& cluster, const Result& result);

}  // namespace berth::sim
