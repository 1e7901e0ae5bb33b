// The figures by which runs are compared, and their confidence intervals. doc/metrics.md.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/metrics.hpp"

namespace berth::sim {

/// A table each.
enum class Topic { Efficiency, Waits, Fairness, Stability };
inline constexpr std::array kTopics = {Topic::Efficiency, Topic::Waits, Topic::Fairness,
                                       Topic::Stability};
/// What stands above the names of runs: for times their unit.
std::string_view head_of(Topic topic);

enum class Shown { Always, WhereKnown };

struct Figure {
  Topic topic;
  std::string_view key;   ///< In JSON.
  std::string_view head;  ///< In a table.
  int width;              ///< There.
  int digits;
  std::optional<double> (*value)(const Metrics& metrics);  ///< Nothing where it means nothing.
  Shown shown = Shown::Always;
  /// What it can be at the least under any schedule; null where no bound says.
  std::optional<double> (*least)(const Bound& bound) = nullptr;
};

/// By topic, each in the order of its table.
std::span<const Figure> figures();

/// Those that tables of these runs have: all that are always shown, and what a run knows of others.
std::vector<Figure> figures_of(std::span<const Metrics> runs);
std::vector<Figure> figures_of(std::span<const Metrics> runs, Topic topic);

/// `12.50`, or `-` for nothing.
std::string to_text(const Figure& figure, std::optional<double> value);

/// A mean and its confidence interval.
struct Interval {
  double mean = 0;
  std::optional<double> half;  ///< Of the 95 % confidence interval; nothing for a single value.
};

/// By Student's t, the values taken to be drawn independently. Nothing for no values.
std::optional<Interval> interval_of(std::span<const double> values);

/// Of those runs that have the figure.
std::optional<Interval> interval_of(const Figure& figure, std::span<const Metrics> runs);

/// Likewise what it can be at the least; nothing for a figure without a bound.
std::optional<Interval> least_of(const Figure& figure, std::span<const Metrics> runs);

/// `12.50 +-0.31`; only the mean where there is no interval, `-` for nothing.
std::string to_text(const Figure& figure, const std::optional<Interval>& interval);

}  // namespace berth::sim
