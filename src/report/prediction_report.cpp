#include "report/prediction_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace berth::sim {

namespace {

constexpr std::size_t kMostDots = 1000;

/// Of the jobs that waited, those of which a start was predicted.
double share_predicted(const PredictionFigures& figures) {
  const std::size_t waited = figures.predicted + figures.unknown;
  return waited == 0 ? 0 : static_cast<double>(figures.predicted) / static_cast<double>(waited);
}

Calibration calibration_of(const Predictions& predictions, const StartOf& start_of) {
  Calibration found;
  std::vector<double> widths;
  const auto intervals = intervals_of(predictions, start_of);
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const Prediction& one = predictions.waited[i];
    const Instant start = start_of(one.job);
    if (start == kNever || !one.start) continue;
    if (one.is_bound) {
      ++found.bounds;
      found.kept += start <= *one.start ? 1 : 0;
    }
    if (!intervals[i]) continue;
    ++found.intervals;
    found.from_prior += intervals[i]->from == ErrorSource::Prior ? 1 : 0;
    found.by_half += start <= intervals[i]->likely ? 1 : 0;
    found.by_ninety += start <= intervals[i]->by ? 1 : 0;
    widths.push_back(in_seconds(intervals[i]->by - intervals[i]->likely));
  }
  found.width = spread_of(std::move(widths));
  return found;
}

double in_percent(std::optional<double> share) { return 100 * share.value_or(0); }

/// A line, or two.
std::string text_of(const Calibration& found) {
  char text[300];
  std::string all;
  if (found.intervals > 0) {
    const int size = std::snprintf(
        text, sizeof text,
        "started by the 50 %% time: %.1f %%, by the 90 %% time: %.1f %% of %zu intervals (%zu from "
        "the prior); between the two median %.0f s\n",
        in_percent(found.share_by_half()), in_percent(found.share_by_ninety()), found.intervals,
        found.from_prior, found.width.median);
    all.assign(text, static_cast<std::size_t>(size));
  }
  if (found.bounds > 0) {
    const int size = std::snprintf(text, sizeof text, "started by their bounds: %zu of %zu\n",
                                   found.kept, found.bounds);
    all.append(text, static_cast<std::size_t>(size));
  }
  return all;
}

}  // namespace

PredictionFigures prediction_figures(const Predictions& predictions, const StartOf& start_of) {
  PredictionFigures figures{.asked = predictions.asked,
                            .at_once = predictions.at_once,
                            .calibration = calibration_of(predictions, start_of)};
  std::vector<double> off;
  std::vector<double> relative;
  double sum = 0;
  double waits = 0;
  for (const Prediction& one : predictions.waited) {
    const Instant start = start_of(one.job);
    if (start == kNever) continue;
    if (!one.start) {
      ++figures.unknown;
      continue;
    }
    const double actual = in_seconds(start - one.at);
    const double predicted = in_seconds(*one.start - one.at);
    figures.waits.push_back({predicted, actual});
    off.push_back(std::abs(predicted - actual));
    relative.push_back(off.back() / std::max(kLeastWait, actual));
    sum += predicted - actual;
    waits += actual;
  }
  figures.predicted = off.size();
  if (off.empty()) return figures;
  figures.off = spread_of(std::move(off));
  figures.relative = spread_of(std::move(relative));
  const auto count = static_cast<double>(figures.predicted);
  figures.bias = sum / count;
  figures.off_over_wait = waits > 0 ? figures.off.mean * count / waits : 0;
  return figures;
}

std::vector<Point> dots_of(const PredictionFigures& figures) {
  const auto minutes = [](double seconds) { return std::max(1.0, seconds / 60); };
  const std::size_t step = figures.waits.size() / kMostDots + 1;
  std::vector<Point> dots;
  for (std::size_t i = 0; i < figures.waits.size(); i += step) {
    dots.push_back({minutes(figures.waits[i].x), minutes(figures.waits[i].y)});
  }
  return dots;
}

nlohmann::ordered_json to_json(const PredictionFigures& figures) {
  return {{"asked", figures.asked},
          {"at_once", figures.at_once},
          {"predicted", figures.predicted},
          {"unknown", figures.unknown},
          {"predicted_share", share_predicted(figures)},
          {"error_seconds",
           {{"mean", figures.off.mean},
            {"median", figures.off.median},
            {"p90", figures.off.p90},
            {"max", figures.off.max}}},
          {"relative_error",
           {{"mean", json_of(figures.relative.known(&Spread::mean))},
            {"median", json_of(figures.relative.known(&Spread::median))},
            {"p90", json_of(figures.relative.known(&Spread::p90))},
            {"p99", json_of(figures.relative.known(&Spread::p99))}}},
          {"bias_seconds", figures.bias},
          {"error_over_wait", figures.off_over_wait},
          {"calibration",
           {{"intervals", figures.calibration.intervals},
            {"from_prior", figures.calibration.from_prior},
            {"started_by_half", json_of(figures.calibration.share_by_half())},
            {"started_by_ninety", json_of(figures.calibration.share_by_ninety())},
            {"width_seconds_median", json_of(figures.calibration.width.known(&Spread::median))},
            {"bounds", figures.calibration.bounds},
            {"bounds_kept", json_of(figures.calibration.share_kept())}}}};
}

std::string to_text(const PredictionFigures& figures) {
  char text[500];
  int size = std::snprintf(text, sizeof text,
                           "starts predicted at submission: of %zu jobs %zu started at once; "
                           "%zu of the %zu others predicted (%.1f %%)\n",
                           figures.asked, figures.at_once, figures.predicted,
                           figures.predicted + figures.unknown, 100 * share_predicted(figures));
  std::string all(text, static_cast<std::size_t>(size));
  if (figures.predicted == 0) return all;
  const std::string calibration = text_of(figures.calibration);
  if (figures.off.max == 0) {
    return all + "off by: nothing, all started when predicted\n" + calibration;
  }
  size = std::snprintf(text, sizeof text,
                       "off by: median %.0f s, p90 %.0f s, mean %.0f s, which is %.2f of the wait; "
                       "on average %.0f s too %s\n"
                       "off by, of each job's wait: median %.1f %%, mean %.1f %%, p90 %.1f %%, "
                       "p99 %.1f %%\n",
                       figures.off.median, figures.off.p90, figures.off.mean, figures.off_over_wait,
                       std::abs(figures.bias), figures.bias > 0 ? "late" : "early",
                       100 * figures.relative.median, 100 * figures.relative.mean,
                       100 * figures.relative.p90, 100 * figures.relative.p99);
  return all + std::string(text, static_cast<std::size_t>(size)) + calibration;
}

}  // namespace berth::sim
