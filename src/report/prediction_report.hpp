// How far predicted starts were off, as figures, text and a picture. doc/metrics.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/chart.hpp"
#include "sim/predictions.hpp"
#include "sim/spread.hpp"

namespace berth::sim {

/// A wait counts as so many seconds at least, where an error is divided by it: what starts within a
/// minute has not been waited for, and an error of seconds there is none.
inline constexpr double kLeastWait = 60;

/// Whether jobs started by the times of their intervals. Of the predicted ones.
struct Calibration {
  std::size_t intervals = 0;
  std::size_t from_prior = 0;  ///< Of these, told before there were enough like jobs.
  std::size_t by_half = 0;     ///< Of these, started by the 50 % time.
  std::size_t by_ninety = 0;
  Spread width;  ///< Seconds between the two times.
  std::size_t bounds = 0;
  std::size_t kept = 0;  ///< Of the bounds.

  std::optional<double> share_by_half() const { return share(by_half, intervals); }
  std::optional<double> share_by_ninety() const { return share(by_ninety, intervals); }
  std::optional<double> share_kept() const { return share(kept, bounds); }

 private:
  /// Nothing of nothing.
  static std::optional<double> share(std::size_t part, std::size_t all) {
    if (all == 0) return std::nullopt;
    return static_cast<double>(part) / static_cast<double>(all);
  }
};

/// Of the jobs that waited, started and had a prediction; seconds.
struct PredictionFigures {
  std::size_t asked = 0;
  std::size_t at_once = 0;
  std::size_t predicted = 0;
  std::size_t unknown = 0;   ///< Waited, and nothing was predicted.
  Spread off;                ///< |predicted - actual start|.
  Spread relative;           ///< The same over the actual wait until the start.
  double bias = 0;           ///< Mean of predicted - actual: above 0 is later than it came.
  double off_over_wait = 0;  ///< Mean |predicted - actual| over the mean wait until the start.
  Calibration calibration;
  std::vector<Point> waits;  ///< Seconds until the start: predicted, actual.
};

/// A job that never started is not judged.
PredictionFigures prediction_figures(const Predictions& predictions, const StartOf& start_of);

nlohmann::ordered_json to_json(const PredictionFigures& figures);
/// A few lines.
std::string to_text(const PredictionFigures& figures);
/// Minutes until the start, predicted and actual; less than one is drawn as one.
std::vector<Point> dots_of(const PredictionFigures& figures);

}  // namespace berth::sim
