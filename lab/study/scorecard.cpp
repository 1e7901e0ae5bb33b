#include "lab/study/scorecard.hpp"

#include <algorithm>
#include <array>

namespace berth::lab {

namespace {

constexpr double kSecond = 60;  ///< Waits that differ by less than a minute are equal to people.

constexpr auto kFigures = std::to_array<StudyFigure>({
    {"ended", "/jobs", "ended", Better::More, 0, 0.5},
    {"timed_out", "/timed_out", "stopped by limit", Better::Less, 0, 0.5},
    {"failed_for_memory", "/out_of_memory", "failed for memory", Better::Less, 0, 0.5},
    {"wait_mean", "/wait_seconds/mean", "mean wait, s", Better::Less, 0, kSecond},
    {"wait_p95", "/wait_seconds/p95", "p95 wait, s", Better::Less, 0, kSecond},
    {"wait_max", "/wait_seconds/max", "worst wait, s", Better::Less, 0, kSecond},
    {"short_wait_p95", "/short_wait_seconds/p95", "p95 wait of shorts, s", Better::Less, 0,
     kSecond},
    {"large_wait_max", "/large_wait_seconds/max", "worst wait of large, s", Better::Less, 0,
     kSecond},
    {"jct_mean", "/jct_seconds/mean", "mean JCT, s", Better::Less, 0, kSecond},
    {"slowdown", "/slowdown/mean", "slowdown", Better::Less, 2, 0.1},
    {"slowdown_p99", "/slowdown/p99", "slowdown, p99", Better::Less, 2, 0.1},
    {"preemptions", "/preemptions", "preemptions a job", Better::Less, 2, 0.1, true, "/jobs"},
    {"makespan", "/makespan_seconds", "makespan, s", Better::Less, 0, kSecond},
    {"throughput", "/while_arriving/jobs_per_hour", "jobs/h while arriving", Better::More, 2, 0.1},
    {"run_over_alone", "/machine/run_over_alone/mean", "run over alone", Better::Less, 2, 0.01},
    {"busy", "/gpu_busy", "busy", Better::More, 3, 0.01},
    {"busy_arriving", "/while_arriving/gpu_busy", "busy while arriving", Better::More, 3, 0.01},
    {"allocated", "/gpu_allocation", "allocated", Better::More, 3, 0.01},
    {"service_jain", "/between_users/service/fairness", "Jain, service", Better::More, 3, 0.01},
    {"slowdown_jain", "/fairness", "Jain, slowdown", Better::More, 3, 0.01},
    {"jct_variance", "/between_users/jct/variance_seconds2", "variance of JCT, s2", Better::Less, 0,
     1},
    {"slowdown_variance", "/between_users/slowdown/variance", "variance of slowdown", Better::Less,
     2, 0.1},
    {"oom_admission", "/machine/ooms/admission", "OOM by admission", Better::Less, 0, 0.5},
    {"oom_own", "/machine/ooms/own_overrun", "OOM, own overrun", Better::Less, 0, 0.5},
    {"oom_neighbour", "/machine/ooms/neighbours_overrun", "OOM, neighbour's overrun", Better::Less,
     0, 0.5},
    {"overruns", "/machine/overruns", "ended for overrun", Better::Less, 0, 0.5},
    {"lost_gpu_hours", "/machine/lost_gpu_hours", "GPU-hours lost", Better::Less, 1, 1},
    {"start_error_median", "/predictions/relative_error/median", "start error, median",
     Better::Less, 2, 0.01},
    {"start_error_p90", "/predictions/relative_error/p90", "start error, p90", Better::Less, 2,
     0.01},
    {"start_error_mean", "/predictions/relative_error/mean", "start error, mean", Better::Less, 2,
     0.01},
    {"start_error_p99", "/predictions/relative_error/p99", "start error, p99", Better::Less, 2,
     0.01},
    {"started_by_half", "/predictions/calibration/started_by_half", "started by 50 %", Better::More,
     2, 0.01, false},
    {"started_by_ninety", "/predictions/calibration/started_by_ninety", "started by 90 %",
     Better::More, 2, 0.01, false},
    {"interval_width", "/predictions/calibration/width_seconds_median", "width of intervals, s",
     Better::Less, 0, kSecond, false},
    {"predicted", "/predictions/predicted_share", "starts predicted", Better::More, 2, 0.01, false},
    {"bound_wait", "/no_schedule_below/mean_wait_seconds", "no schedule waits less than, s",
     Better::Less, 0, kSecond, false},
});

}  // namespace

std::span<const StudyFigure> study_figures() { return kFigures; }

const StudyFigure* find_figure(std::string_view key) {
  const auto found = std::ranges::find(kFigures, key, &StudyFigure::key);
  return found == kFigures.end() ? nullptr : &*found;
}

}  // namespace berth::lab
