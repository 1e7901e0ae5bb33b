#include "sim/metrics.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace berth::sim {

namespace {

/// Jain's index of means: 1 / n for one user who has it all, 1 when all are alike.
double fairness_of(const std::map<UserId, std::pair<double, std::size_t>>& sums) {
  double sum = 0;
  double squares = 0;
  for (const auto& [user, entry] : sums) {
    const double mean = entry.first / static_cast<double>(entry.second);
    sum += mean;
    squares += mean * mean;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(sums.size()) * squares) : 1;
}

/// Counts one more job.
void note(EstimateFigures& figures, Duration told, Duration ran) {
  if (told != ran) figures.are_exact = false;
  if (told == kForever) return;
  ++figures.known;
  if (told / 2 > ran) {
    ++figures.longer;
  } else if (told < ran / 2) {
    ++figures.shorter;
  } else {
    ++figures.close;
  }
}

EstimateFigures shares_of(EstimateFigures counts, std::size_t jobs) {
  for (double* const count : {&counts.known, &counts.close, &counts.shorter, &counts.longer}) {
    *count /= static_cast<double>(jobs);
  }
  return counts;
}

}  // namespace

Metrics measure(const trace::Trace& trace, const Cluster& cluster, const Result& result) {
  Metrics metrics;
  std::vector<double> jcts;
  std::vector<double> waits;
  std::vector<double> slowdowns;
  std::vector<double> over_alone;
  std::map<UserId, std::pair<double, std::size_t>> by_user;
  if (result.is_modelled) metrics.machine = machine_figures(trace, result);
  if (result.waits && !trace.jobs.empty()) {
    metrics.waits = wait_figures(*result.waits, trace.jobs.size());
  }
  if (result.predictions) {
    metrics.predictions = prediction_figures(
        *result.predictions, [&](std::size_t job) { return result.jobs[job].start; });
  }
  Instant first = kNever;
  Instant last = kStart;
  double gpu_seconds = 0;
  double work = 0;
  for (const JobResult& job : result.jobs) {
    const trace::TraceJob& asked = trace.jobs[job.job];
    metrics.preemptions += job.preemptions;
    metrics.ooms += job.memory.total();
    if (!job.refused.empty()) ++metrics.rejected;
    if (job.timed_out) ++metrics.timed_out;
    if (job.end == kNever) continue;
    ++metrics.jobs;
    first = std::min(first, asked.submit);
    last = std::max(last, job.end);
    note(metrics.estimates, job.told, asked.duration);
    jcts.push_back(in_seconds(job.end - asked.submit));
    waits.push_back(in_seconds(job.end - asked.submit - job.spent.ran));
    slowdowns.push_back(
        std::max(1.0, jcts.back() / std::max(kLeastRun, in_seconds(asked.duration))));
    over_alone.push_back(std::max(kLeastRun, in_seconds(job.spent.ran)) /
                         std::max(kLeastRun, in_seconds(asked.duration)));
    auto& [sum, count] = by_user[asked.spec.user];
    sum += slowdowns.back();
    ++count;
    const auto gpus = static_cast<double>(asked.spec.request.gpu.count.raw());
    gpu_seconds += gpus * in_seconds(job.spent.ran);
    work += gpus * in_seconds(asked.duration);
  }
  if (metrics.jobs == 0) return metrics;
  metrics.jct = spread_of(std::move(jcts));
  metrics.wait = spread_of(std::move(waits));
  metrics.slowdown = spread_of(std::move(slowdowns));
  metrics.run_over_alone = spread_of(std::move(over_alone));
  metrics.estimates = shares_of(metrics.estimates, metrics.jobs);
  metrics.fairness = fairness_of(by_user);
  metrics.makespan = in_seconds(last - first);
  if (metrics.makespan > 0) {
    metrics.jobs_per_hour = static_cast<double>(metrics.jobs) / metrics.makespan * 3600;
    metrics.work_per_hour = work / metrics.makespan;
  }
  const double capacity = static_cast<double>(cluster.gpu_count().raw()) * metrics.makespan;
  metrics.allocated = capacity > 0 ? gpu_seconds / capacity : 0;
  return metrics;
}

}  // namespace berth::sim
