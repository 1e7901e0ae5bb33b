#include "sim/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

namespace berth::sim {

namespace {

constexpr double kLeastRun = 10;

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

}  // namespace

Metrics measure(const trace::Trace& trace, const Cluster& cluster, const Result& result) {
  Metrics metrics;
  std::vector<double> jcts;
  std::vector<double> waits;
  std::vector<double> slowdowns;
  std::map<UserId, std::pair<double, std::size_t>> by_user;
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
    slowdowns.push_back(
        std::max(1.0, jcts.back() / std::max(kLeastRun, in_seconds(asked.duration))));
    auto& [sum, count] = by_user[asked.spec.user];
    sum += slowdowns.back();
    ++count;
    gpu_seconds +=
        static_cast<double>(asked.spec.request.gpu.count.raw()) * in_seconds(asked.duration);
  }
  if (metrics.jobs == 0) return metrics;
  metrics.jct = spread_of(std::move(jcts));
  metrics.wait = spread_of(std::move(waits));
  metrics.slowdown = spread_of(std::move(slowdowns));
  metrics.fairness = fairness_of(by_user);
  metrics.makespan = in_seconds(last - first);
  const double capacity = static_cast<double>(cluster.gpu_count().raw()) * metrics.makespan;
  metrics.allocated = capacity > 0 ? gpu_seconds / capacity : 0;
  return metrics;
}

}  // namespace berth::sim
