// How far predicted starts were off, as figures, text and a picture. doc/metrics.md.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/chart.hpp"
#include "sim/predictions.hpp"
#include "sim/spread.hpp"

namespace berth::sim {

/// A wait counts as so many seconds at least, where an error is divided by it: what starts within a
/// minute has not been waited for, and an error of seconds there is none.
inline constexpr double kLeastWait = 60;

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
  std::vector<Point> waits;  ///< Seconds until the start: predicted, actual.
};

/// `start_of` tells when a job started; kNever if it never did: such a one is not judged.
PredictionFigures prediction_figures(const Predictions& predictions,
                                     const std::function<Instant(std::size_t)>& start_of);

nlohmann::ordered_json to_json(const PredictionFigures& figures);
/// A few lines.
std::string to_text(const PredictionFigures& figures);
/// Minutes until the start, predicted and actual; less than one is drawn as one.
std::vector<Point> dots_of(const PredictionFigures& figures);

}  // namespace berth::sim
