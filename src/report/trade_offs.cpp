#include "report/trade_offs.hpp"

#include <algorithm>
#include <map>

#include "report/charts.hpp"
#include "sim/spread.hpp"

namespace berth::sim {

namespace {

struct Chart {
  Axes axes;
  Point (*dot)(const Cluster& cluster, const PageRun& run);
};

double hours(double seconds) { return seconds / 3600; }

Point speed_against_cost(const Cluster& cluster, const PageRun& run) {
  const Metrics& m = run.metrics;
  if (run.result.cost) return {hours(m.jct.mean), *run.result.cost};
  const auto gpus = static_cast<double>(cluster.gpu_count().raw());
  return {hours(m.jct.mean), gpus * hours(m.makespan)};
}

Point speed_against_energy(const Cluster&, const PageRun& run) {
  return {hours(run.metrics.jct.mean), kwh(run.result.energy)};
}

Point efficiency_against_fairness(const Cluster&, const PageRun& run) {
  return {hours(run.metrics.jct.mean), 1 - run.metrics.fairness().value_or(1)};
}

Point utilisation_against_isolation(const Cluster& cluster, const PageRun& run) {
  return {100 * idle_share(cluster, run.result), run.metrics.run_over_alone.mean - 1};
}

Point waiting_against_interruption(const Cluster&, const PageRun& run) {
  const Metrics& m = run.metrics;
  const double jobs = static_cast<double>(std::max<std::size_t>(m.jobs, 1));
  return {hours(m.wait.mean), static_cast<double>(m.preemptions) / jobs};
}

}  // namespace

double idle_share(const Cluster& cluster, const Result& result) {
  std::map<GpuId, Instant> busy_until;  // tenants of one GPU count once
  double busy = 0;
  Instant first = kNever;
  Instant last = kStart;
  for (const Stretch& stretch : result.stretches) {  // by start
    if (stretch.to == kNever) continue;
    first = std::min(first, stretch.from);
    last = std::max(last, stretch.to);
    for (const GpuId gpu : stretch.gpus) {
      const auto [known, is_new] = busy_until.try_emplace(gpu, stretch.from);
      const Instant from = std::max(known->second, stretch.from);
      if (stretch.to > from) busy += in_seconds(stretch.to - from);
      known->second = std::max(known->second, stretch.to);
    }
  }
  if (first >= last) return 1;
  const auto gpus = static_cast<double>(cluster.gpu_count().raw());
  return std::clamp(1 - busy / (gpus * in_seconds(last - first)), 0.0, 1.0);
}

std::string trade_offs(const Cluster& cluster, std::span<const PageRun> runs) {
  const char* const jct = "mean JCT, hours";
  std::vector<Chart> charts = {
      {{.title = "Speed against cost",
        .x = jct,
        .y = runs.front().result.cost ? "cost" : "GPU-hours until the end"},
       speed_against_cost},
      {{.title = "Utilisation against isolation",
        .x = "idle GPU time, %",
        .y = "run time over alone, less 1"},
       utilisation_against_isolation},
      {{.title = "Waiting against interruption",
        .x = "mean wait, hours",
        .y = "preemptions per job"},
       waiting_against_interruption}};
  if (std::ranges::all_of(runs,
                          [](const PageRun& run) { return run.metrics.fairness().has_value(); })) {
    charts.insert(charts.begin() + 1,
                  {{.title = "Efficiency against fairness", .x = jct, .y = "unfairness (1 - Jain)"},
                   efficiency_against_fairness});
  }
  if (!runs.front().result.energy.empty()) {
    charts.push_back(
        {{.title = "Speed against energy", .x = jct, .y = "kWh"}, speed_against_energy});
  }
  std::string html =
      "<h2>Trade-offs</h2>\n<p>Less is better on both axes; the grey line joins what nothing else "
      "beats in both.</p>\n";
  Charts drawn;
  for (const Chart& chart : charts) {
    std::vector<std::pair<std::string, Point>> dots;
    for (const PageRun& run : runs) {
      if (run.metrics.jobs < most_ended(runs)) continue;
      dots.emplace_back(run.names.label, chart.dot(cluster, run));
    }
    drawn.add(chart.axes, dots);
  }
  return html + drawn.html();
}

}  // namespace berth::sim
