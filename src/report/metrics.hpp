// What a run is judged by. Definitions: JCT = end - submit; wait = JCT - run time; slowdown = JCT /
// run time alone, which counts as 10 s at least (bounded slowdown, Feitelson and Rudolph 1998);
// makespan = last end - first submit; throughput = what ended over the makespan, and while jobs
// arrived; percentiles by linear interpolation between closest ranks. Where only the jobs of a
// window are measured (Options::measured), only they count. doc/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "report/bound.hpp"
#include "report/machine_figures.hpp"
#include "report/prediction_report.hpp"
#include "report/user_figures.hpp"
#include "report/wait_report.hpp"
#include "sim/simulator.hpp"
#include "sim/spread.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// How good the engine's estimates were, compared with run times alone. Shares of all jobs that
/// ran to their end.
struct EstimateFigures {
  double known = 0;       ///< Those with an estimate:
  double close = 0;       ///< from half to twice the truth,
  double shorter = 0;     ///< less than half,
  double longer = 0;      ///< more than twice.
  bool are_exact = true;  ///< Every one of them is the truth.
};

/// From the first submission to the last: without the end, when only the last long jobs run.
struct WhileArriving {
  double seconds = 0;
  double jobs_per_hour = 0;    ///< That ended in that time, whenever they came.
  double work_per_hour = 0;    ///< GPU-hours of run time alone of those.
  double allocated = 0;        ///< GPU time granted over GPUs x time; 0 to 1.
  double in_use = 0;           ///< Likewise, with at least one tenant.
  std::optional<double> busy;  ///< Likewise, with a kernel; nothing where no job says that.
  std::optional<double> held;  ///< GPU memory in use over what there is; nothing if not modelled.
};

/// Of the jobs that have a deadline.
struct DeadlineFigures {
  std::size_t jobs = 0;
  std::size_t met = 0;   ///< Ended by it.
  std::size_t late = 0;  ///< Ended after it; the others never ended.
  double lateness = 0;   ///< Seconds, mean over the late ones.
};

/// A job is large from so many GPUs on, and short if it runs for so long at the most when alone.
inline constexpr GpuCount kLargeGpus{8};
inline constexpr Duration kShortRun = minutes(15);

struct Metrics {
  std::size_t submitted = 0;  ///< All that count: those that ended and those of the next three.
  std::size_t jobs = 0;       ///< That ran to their end. Most figures are theirs.
  std::size_t rejected = 0;
  std::size_t timed_out = 0;         ///< Ended by their time limits.
  std::size_t out_of_memory = 0;     ///< Not tried again.
  Spread jct;                        ///< Seconds.
  Spread wait;                       ///< Seconds.
  Spread large_wait;                 ///< Of large jobs.
  Spread short_wait;                 ///< Of short jobs.
  Spread slowdown;                   ///< No unit.
  Spread run_over_alone;             ///< Time with GPUs over run time alone, each 10 s at least.
  std::optional<UserFigures> users;  ///< Nothing if fewer than two are named.
  double makespan = 0;               ///< Seconds.
  double jobs_per_hour = 0;          ///< Of the makespan.
  double work_per_hour = 0;  ///< GPU-hours of run time alone of the jobs that ended, likewise.
  double allocated = 0;      ///< GPU time granted over GPUs x time of the run; 0 to 1. See Use.
  double in_use = 0;         ///< Likewise, with at least one tenant.
  double tenants = 0;        ///< On a GPU that has one, on average.
  std::optional<double>
      busy;  ///< GPU time with a kernel, likewise; nothing where no job says that.
  std::optional<double> held;  ///< GPU memory in use over what there is; nothing if not modelled.
  std::optional<WhileArriving> arriving;  ///< Nothing if all jobs arrive at one instant.
  std::int64_t preemptions = 0;
  std::int64_t ooms = 0;
  std::optional<MachineFigures> machine;
  EstimateFigures estimates;
  std::optional<DeadlineFigures> deadlines;  ///< Nothing if no job has one.
  std::optional<PredictionFigures> predictions;
  std::optional<Bound> bound;     ///< Where it was asked for, which measure() does not.
  std::vector<WaitFigure> waits;  ///< Why jobs waited; empty if that was not asked for.

  std::optional<double> fairness() const {
    return users ? std::optional(users->fairness) : std::nullopt;
  }
  std::size_t failed() const { return timed_out + out_of_memory; }
  /// More than one tenant at a time was on a GPU.
  bool has_shared() const { return tenants > 1; }
};

Metrics measure(const trace::Trace& trace, const Cluster& cluster, const Result& result);

}  // namespace berth::sim
