#include "report/figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace berth::sim {

namespace {

/// Of the jobs that ended: nothing where none did.
template <Spread Metrics::* figure, double Spread::* part>
std::optional<double> ended(const Metrics& metrics) {
  return (metrics.*figure).known(part);
}

double counted(std::size_t count) { return static_cast<double>(count); }

/// Of what is known only where jobs do not all arrive at once.
template <double WhileArriving::* figure>
std::optional<double> arriving(const Metrics& metrics) {
  return metrics.arriving ? std::optional((*metrics.arriving).*figure) : std::nullopt;
}
std::optional<double> percent(std::optional<double> part) {
  return part ? std::optional(100 * *part) : std::nullopt;
}

using Value = std::optional<double>;
using M = const Metrics&;

constexpr auto kFigures = std::to_array<Figure>({
    {"jobs", "ended", 7, 0, [](M m) -> Value { return counted(m.jobs); }},
    {"rejected", "rejected", 8, 0, [](M m) -> Value { return counted(m.rejected); }},
    {"failed", "failed", 6, 0, [](M m) -> Value { return counted(m.failed()); }},
    {"jct_seconds_mean", "mean JCT", 12, 1, ended<&Metrics::jct, &Spread::mean>},
    {"jct_seconds_p95", "p95 JCT", 12, 1, ended<&Metrics::jct, &Spread::p95>},
    {"wait_seconds_mean", "mean wait", 12, 1, ended<&Metrics::wait, &Spread::mean>},
    {"slowdown_mean", "slowdown", 9, 2, ended<&Metrics::slowdown, &Spread::mean>},
    {"fairness", "fairness", 8, 3, [](M m) -> Value { return m.fairness; }},
    {"makespan_seconds", "makespan", 11, 0,
     [](M m) { return m.jobs > 0 ? Value(m.makespan) : Value(); }},
    {"jobs_per_hour", "jobs/h", 8, 2, [](M m) -> Value { return m.jobs_per_hour; }},
    {"gpu_allocation_percent", "alloc, %", 8, 1, [](M m) -> Value { return 100 * m.allocated; }},
    {"arriving_jobs_per_hour", "jobs/h *", 8, 2, arriving<&WhileArriving::jobs_per_hour>},
    {"arriving_gpu_allocation_percent", "alloc* %", 8, 1,
     [](M m) { return percent(arriving<&WhileArriving::allocated>(m)); }},
    {"preemptions", "preempt", 8, 0,
     [](M m) -> Value { return static_cast<double>(m.preemptions); }},
    {"tenants_per_gpu_in_use", "tenants", 8, 2,
     [](M m) { return m.has_shared() ? Value(m.tenants) : Value(); }, Shown::WhereKnown},
    {"gpu_busy_percent", "busy, %", 8, 1, [](M m) { return percent(m.busy); }, Shown::WhereKnown},
    {"deadlines_met_percent", "met, %", 8, 1,
     [](M m) {
       return m.deadlines ? Value(100 * counted(m.deadlines->met) / counted(m.deadlines->jobs))
                          : Value();
     },
     Shown::WhereKnown},
    {"cost", "cost", 12, 2, [](M m) { return m.machine ? m.machine->cost : Value(); },
     Shown::WhereKnown},
    {"energy_kwh", "kWh", 12, 1,
     [](M m) {
       return m.machine && !m.machine->energy.empty() ? Value(kwh(m.machine->energy)) : Value();
     },
     Shown::WhereKnown},
});

/// 97.5 % quantiles of Student's t by degrees of freedom from 1 on.
constexpr std::array<double, 30> kStudent = {
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

/// Beyond the table, by the first terms of its expansion around the normal distribution's 1.960.
double student(std::size_t freedom) {
  if (freedom <= kStudent.size()) return kStudent[freedom - 1];
  return 1.95996 + 2.37227 / static_cast<double>(freedom);
}

}  // namespace

std::span<const Figure> figures() { return kFigures; }

std::vector<Figure> figures_of(std::span<const Metrics> runs) {
  std::vector<Figure> known;
  for (const Figure& figure : kFigures) {
    const auto knows = [&](const Metrics& run) { return figure.value(run).has_value(); };
    if (figure.shown == Shown::Always || std::ranges::any_of(runs, knows)) known.push_back(figure);
  }
  return known;
}

std::string to_text(const Figure& figure, std::optional<double> value) {
  return to_text(value, figure.digits);
}

std::optional<Interval> interval_of(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() == 1) return Interval{.mean = mean, .half = std::nullopt};
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / (count - 1));
  return Interval{.mean = mean, .half = student(values.size() - 1) * deviation / std::sqrt(count)};
}

std::optional<Interval> interval_of(const Figure& figure, std::span<const Metrics> runs) {
  std::vector<double> values;
  for (const Metrics& run : runs) {
    if (const auto value = figure.value(run)) values.push_back(*value);
  }
  return interval_of(values);
}

std::string to_text(const Figure& figure, const std::optional<Interval>& interval) {
  if (!interval) return "-";
  if (!interval->half) return to_text(interval->mean, figure.digits);
  const int digits = std::max(1, figure.digits);  // counts have means with decimals too
  return to_text(interval->mean, digits) + " +-" + to_text(interval->half, digits);
}

}  // namespace berth::sim
