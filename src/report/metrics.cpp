#include "report/metrics.hpp"

#include <algorithm>
#include <vector>

#include "report/job_figures.hpp"

namespace berth::sim {

namespace {

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

/// GPU-seconds.
double work_of(const trace::TraceJob& job) {
  return static_cast<double>(job.spec.request.gpu.count.raw()) * in_seconds(job.duration);
}

double share_of_all(double amount, double of) { return of > 0 ? amount / of : 0; }

std::optional<double> busy_of(const Cluster& cluster, const Result& result, const Use& use) {
  if (!result.knows_loads) return std::nullopt;
  return share_of_all(use.kernels, static_cast<double>(cluster.gpu_count().raw()) * use.seconds);
}

std::optional<double> held_of(const Cluster& cluster, const Result& result, const Use& use) {
  if (!result.lacks_memory) return std::nullopt;
  double capacity = 0;
  for (const GpuSpec& gpu : cluster.gpus()) capacity += static_cast<double>(gpu.capacity.raw());
  return share_of_all(use.held, capacity * use.seconds);
}

/// What the cluster got done in that time: so many jobs, and so many GPU-seconds of work.
std::optional<WhileArriving> while_arriving(double jobs, double work, const Cluster& cluster,
                                            const Result& result) {
  const double time = result.arriving.seconds;
  if (time <= 0) return std::nullopt;
  const double capacity = static_cast<double>(cluster.gpu_count().raw()) * time;
  return WhileArriving{.seconds = time,
                       .jobs_per_hour = jobs / time * 3600,
                       .work_per_hour = work / time,
                       .allocated = share_of_all(result.arriving.allocated, capacity),
                       .in_use = share_of_all(result.arriving.busy, capacity),
                       .busy = busy_of(cluster, result, result.arriving),
                       .held = held_of(cluster, result, result.arriving)};
}

/// Counts one more job with a deadline.
void note(DeadlineFigures& figures, Instant deadline, Instant end) {
  ++figures.jobs;
  if (end == kNever) return;
  if (end <= deadline) {
    ++figures.met;
  } else {
    ++figures.late;
    figures.lateness += in_seconds(end - deadline);
  }
}

}  // namespace

Metrics measure(const trace::Trace& trace, const Cluster& cluster, const Result& result) {
  Metrics metrics;
  std::vector<double> jcts;
  std::vector<double> waits;
  std::vector<double> large_waits;
  std::vector<double> short_waits;
  std::vector<double> slowdowns;
  std::vector<double> over_alone;
  DeadlineFigures deadlines;
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
  double work = 0;
  double arriving_jobs = 0;  // of all jobs, also where only some are measured
  double arriving_work = 0;
  UserSums users(cluster);
  for (const JobResult& job : result.jobs) {  // once: a million jobs are more than a cache holds
    const trace::TraceJob& asked = trace.jobs[job.job];
    const bool counts = !result.measured || result.measured->has(asked.submit);
    users.add(asked, job, counts);
    if (job.end != kNever && result.arrivals.has(job.end)) {
      ++arriving_jobs;
      arriving_work += work_of(asked);
    }
    if (!counts) continue;
    ++metrics.submitted;
    metrics.preemptions += job.preemptions;
    metrics.ooms += job.memory.total();
    if (!job.refused.empty()) ++metrics.rejected;
    if (job.timed_out) ++metrics.timed_out;
    if (job.memory.failed) ++metrics.out_of_memory;
    if (asked.spec.deadline != kNever) note(deadlines, asked.spec.deadline, job.end);
    if (job.end == kNever) continue;
    ++metrics.jobs;
    first = std::min(first, asked.submit);
    last = std::max(last, job.end);
    note(metrics.estimates, job.told, asked.duration);
    jcts.push_back(jct_of(asked, job));
    waits.push_back(wait_of(asked, job));
    if (asked.spec.request.gpu.count >= kLargeGpus) large_waits.push_back(waits.back());
    if (asked.duration <= kShortRun) short_waits.push_back(waits.back());
    slowdowns.push_back(slowdown_of(asked, job));
    over_alone.push_back(std::max(kLeastRun, in_seconds(job.spent.ran)) /
                         std::max(kLeastRun, in_seconds(asked.duration)));
    work += work_of(asked);
  }
  if (deadlines.late > 0) deadlines.lateness /= static_cast<double>(deadlines.late);
  if (deadlines.jobs > 0) metrics.deadlines = deadlines;
  const double capacity = static_cast<double>(cluster.gpu_count().raw()) * result.use.seconds;
  metrics.allocated = share_of_all(result.use.allocated, capacity);
  metrics.in_use = share_of_all(result.use.busy, capacity);
  metrics.tenants = share_of_all(result.use.tenancy, result.use.busy);
  metrics.busy = busy_of(cluster, result, result.use);
  metrics.held = held_of(cluster, result, result.use);
  metrics.arriving = while_arriving(arriving_jobs, arriving_work, cluster, result);
  if (metrics.jobs == 0) return metrics;
  metrics.jct = spread_of(std::move(jcts));
  metrics.wait = spread_of(std::move(waits));
  metrics.large_wait = spread_of(std::move(large_waits));
  metrics.short_wait = spread_of(std::move(short_waits));
  metrics.slowdown = spread_of(std::move(slowdowns));
  metrics.run_over_alone = spread_of(std::move(over_alone));
  metrics.estimates = shares_of(metrics.estimates, metrics.jobs);
  metrics.users = users.figures();
  metrics.makespan = in_seconds(last - first);
  if (metrics.makespan > 0) {
    metrics.jobs_per_hour = static_cast<double>(metrics.jobs) / metrics.makespan * 3600;
    metrics.work_per_hour = work / metrics.makespan;
  }
  return metrics;
}

}  // namespace berth::sim
