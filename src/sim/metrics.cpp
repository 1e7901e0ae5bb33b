#include "sim/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace berth::sim {

namespace {

double in_seconds(Duration duration) { return static_cast<double>(micros(duration)) / 1e6; }

double percentile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(at));
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - static_cast<double>(low));
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {.mean = sum / static_cast<double>(values.size()),
          .median = percentile(values, 0.5),
          .p95 = percentile(values, 0.95),
          .p99 = percentile(values, 0.99),
          .max = values.back()};
}

}  // namespace

Metrics measure(const trace::Trace& trace, const Cluster& cluster, const Result& result) {
  Metrics metrics;
  std::vector<double> jcts;
  std::vector<double> waits;
  Instant first = kNever;
  Instant last = kStart;
  double gpu_seconds = 0;
  for (const JobResult& job : result.jobs) {
    const trace::TraceJob& asked = trace.jobs[job.job];
    metrics.preemptions += job.preemptions;
    if (!job.refused.empty()) ++metrics.rejected;
    if (job.end == kNever) continue;
    ++metrics.jobs;
    first = std::min(first, asked.submit);
    last = std::max(last, job.end);
    jcts.push_back(in_seconds(job.end - asked.submit));
    waits.push_back(in_seconds(job.end - asked.submit - asked.duration));
    gpu_seconds +=
        static_cast<double>(asked.spec.request.gpu.count.raw()) * in_seconds(asked.duration);
  }
  if (metrics.jobs == 0) return metrics;
  metrics.jct = spread_of(std::move(jcts));
  metrics.wait = spread_of(std::move(waits));
  metrics.makespan = in_seconds(last - first);
  const double capacity = static_cast<double>(cluster.gpu_count().raw()) * metrics.makespan;
  metrics.allocated = capacity > 0 ? gpu_seconds / capacity : 0;
  return metrics;
}

}  // namespace berth::sim
