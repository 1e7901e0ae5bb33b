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

/// Of the machine, where it is not perfect in the way that the figure is about.
template <bool MachineFigures::* matters>
const MachineFigures* machine(M m) {
  return m.machine && (*m.machine).*matters ? &*m.machine : nullptr;
}

template <OomKind kind>
Value ooms(M m) {
  const MachineFigures* const figures = machine<&MachineFigures::lacks_memory>(m);
  if (figures == nullptr) return std::nullopt;
  return static_cast<double>(figures->ooms[static_cast<std::size_t>(kind)]);
}

/// Of the jobs with a predicted start.
template <double Spread::* part>
Value start_error(M m) {
  return m.predictions ? percent(m.predictions->relative.known(part)) : std::nullopt;
}

template <Variation UserFigures::* figure, double Variation::* part>
Value between_users(M m) {
  return m.users ? Value((*m.users).*figure.*part) : std::nullopt;
}

constexpr auto kKnown = Shown::WhereKnown;

constexpr auto kFigures = std::to_array<Figure>({
    {Topic::Efficiency, "jobs", "ended", 7, 0, [](M m) -> Value { return counted(m.jobs); }},
    {Topic::Efficiency, "rejected", "rejected", 8, 0,
     [](M m) -> Value { return counted(m.rejected); }},
    {Topic::Efficiency, "failed", "failed", 6, 0,
     [](M m) -> Value { return counted(m.failed()); }},
    {Topic::Efficiency, "jct_seconds_mean", "mean JCT", 12, 1, ended<&Metrics::jct, &Spread::mean>,
     Shown::Always, [](const Bound& bound) -> Value { return bound.jct; }},
    {Topic::Efficiency, "jct_seconds_p95", "p95 JCT", 12, 1, ended<&Metrics::jct, &Spread::p95>},
    {Topic::Efficiency, "wait_seconds_mean", "mean wait", 12, 1,
     ended<&Metrics::wait, &Spread::mean>, Shown::Always,
     [](const Bound& bound) { return bound.wait; }},
    {Topic::Efficiency, "slowdown_mean", "slowdown", 9, 2,
     ended<&Metrics::slowdown, &Spread::mean>},
    {Topic::Efficiency, "makespan_seconds", "makespan", 11, 0,
     [](M m) { return m.jobs > 0 ? Value(m.makespan) : Value(); }},
    {Topic::Efficiency, "jobs_per_hour", "jobs/h", 8, 2,
     [](M m) -> Value { return m.jobs_per_hour; }},
    {Topic::Efficiency, "gpu_allocation_percent", "alloc, %", 8, 1,
     [](M m) -> Value { return 100 * m.allocated; }},
    {Topic::Efficiency, "arriving_jobs_per_hour", "jobs/h *", 8, 2,
     arriving<&WhileArriving::jobs_per_hour>},
    {Topic::Efficiency, "arriving_gpu_allocation_percent", "alloc* %", 8, 1,
     [](M m) { return percent(arriving<&WhileArriving::allocated>(m)); }},
    {Topic::Efficiency, "preemptions", "preempt", 8, 0,
     [](M m) -> Value { return static_cast<double>(m.preemptions); }},
    {Topic::Efficiency, "tenants_per_gpu_in_use", "tenants", 8, 2,
     [](M m) { return m.has_shared() ? Value(m.tenants) : Value(); }, kKnown},
    {Topic::Efficiency, "gpu_busy_percent", "busy, %", 8, 1, [](M m) { return percent(m.busy); },
     kKnown},
    {Topic::Efficiency, "deadlines_met_percent", "met, %", 8, 1,
     [](M m) {
       return m.deadlines ? Value(100 * counted(m.deadlines->met) / counted(m.deadlines->jobs))
                          : Value();
     },
     kKnown},
    {Topic::Efficiency, "cost", "cost", 12, 2,
     [](M m) { return m.machine ? m.machine->cost : Value(); }, kKnown},
    {Topic::Efficiency, "energy_kwh", "kWh", 12, 1,
     [](M m) {
       return m.machine && !m.machine->energy.empty() ? Value(kwh(m.machine->energy)) : Value();
     },
     kKnown},

    {Topic::Waits, "wait_seconds_p95", "p95 of all", 12, 1, ended<&Metrics::wait, &Spread::p95>},
    {Topic::Waits, "wait_seconds_max", "longest", 12, 1, ended<&Metrics::wait, &Spread::max>},
    {Topic::Waits, "short_wait_seconds_p95", "p95 of short", 12, 1,
     ended<&Metrics::short_wait, &Spread::p95>, kKnown},
    {Topic::Waits, "large_wait_seconds_mean", "mean of large", 13, 1,
     ended<&Metrics::large_wait, &Spread::mean>, kKnown},
    {Topic::Waits, "large_wait_seconds_p95", "p95 of large", 12, 1,
     ended<&Metrics::large_wait, &Spread::p95>, kKnown},
    {Topic::Waits, "large_wait_seconds_max", "longest of large", 16, 1,
     ended<&Metrics::large_wait, &Spread::max>, kKnown},

    {Topic::Fairness, "fairness", "Jain, slowdown", 14, 3, [](M m) { return m.fairness(); },
     kKnown},
    {Topic::Fairness, "service_fairness", "Jain, service", 13, 3,
     [](M m) { return m.users ? m.users->service : Value(); }, kKnown},
    {Topic::Fairness, "least_service", "least service", 13, 3,
     [](M m) { return m.users ? m.users->least_service : Value(); }, kKnown},
    {Topic::Fairness, "user_jct_variance_seconds2", "variance, JCT", 16, 0,
     between_users<&UserFigures::jct, &Variation::variance>, kKnown},
    {Topic::Fairness, "user_jct_variation", "variation, JCT", 14, 3,
     between_users<&UserFigures::jct, &Variation::coefficient>, kKnown},
    {Topic::Fairness, "user_slowdown_variance", "variance, slowdown", 18, 2,
     between_users<&UserFigures::slowdown, &Variation::variance>, kKnown},
    {Topic::Fairness, "user_slowdown_variation", "variation, slowdown", 19, 3,
     between_users<&UserFigures::slowdown, &Variation::coefficient>, kKnown},

    {Topic::Stability, "ooms_by_admission", "OOM: admission", 14, 0, ooms<OomKind::Admission>,
     kKnown},
    {Topic::Stability, "ooms_by_own_overrun", "own overrun", 11, 0, ooms<OomKind::OwnOverrun>,
     kKnown},
    {Topic::Stability, "ooms_by_neighbours_overrun", "neighbour's", 11, 0,
     ooms<OomKind::NeighbourOverrun>, kKnown},
    {Topic::Stability, "ooms_by_foreign", "foreign", 7, 0, ooms<OomKind::Foreign>, kKnown},
    {Topic::Stability, "overruns", "ended, overrun", 14, 0,
     [](M m) {
       const auto* const figures = machine<&MachineFigures::lacks_memory>(m);
       return figures != nullptr ? Value(static_cast<double>(figures->overruns)) : Value();
     },
     kKnown},
    {Topic::Stability, "faults", "faults", 8, 0,
     [](M m) {
       const auto* const figures = machine<&MachineFigures::has_faults>(m);
       return figures != nullptr ? Value(static_cast<double>(figures->faults)) : Value();
     },
     kKnown},
    {Topic::Stability, "lost_gpu_hours", "GPU-hours lost", 14, 2,
     [](M m) {
       return m.machine && !m.machine->is_perfect ? Value(m.machine->lost_gpu_hours) : Value();
     },
     kKnown},
    {Topic::Stability, "start_error_percent_median", "start off, %", 12, 1,
     start_error<&Spread::median>, kKnown},
    {Topic::Stability, "start_error_percent_mean", "mean", 9, 1, start_error<&Spread::mean>,
     kKnown},
    {Topic::Stability, "start_error_percent_p90", "p90", 9, 1, start_error<&Spread::p90>, kKnown},
    {Topic::Stability, "start_error_percent_p99", "p99", 9, 1, start_error<&Spread::p99>, kKnown},
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

std::string_view head_of(Topic topic) {
  switch (topic) {
    case Topic::Efficiency:
      return "seconds";
    case Topic::Waits:
      return "waits, seconds";
    case Topic::Fairness:
      return "between users";
    case Topic::Stability:
      return "stability";
  }
  return "";
}

std::span<const Figure> figures() { return kFigures; }

std::vector<Figure> figures_of(std::span<const Metrics> runs) {
  std::vector<Figure> known;
  for (const Figure& figure : kFigures) {
    const auto knows = [&](const Metrics& run) { return figure.value(run).has_value(); };
    if (figure.shown == Shown::Always || std::ranges::any_of(runs, knows)) known.push_back(figure);
  }
  return known;
}

std::vector<Figure> figures_of(std::span<const Metrics> runs, Topic topic) {
  std::vector<Figure> known = figures_of(runs);
  std::erase_if(known, [&](const Figure& figure) { return figure.topic != topic; });
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

std::optional<Interval> least_of(const Figure& figure, std::span<const Metrics> runs) {
  std::vector<double> values;
  for (const Metrics& run : runs) {
    if (figure.least == nullptr || !run.bound) continue;
    if (const auto value = figure.least(*run.bound)) values.push_back(*value);
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
