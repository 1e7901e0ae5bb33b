#include "sim/predictions.hpp"

#include <set>
#include <utility>

#include "core/base/assert.hpp"
#include "engine/forecast.hpp"

namespace berth::sim {

Prediction prediction_of(const Engine& engine, JobId job, const MakePolicy& policy,
                         const GiveWay& give_way) {
  auto copy = Engine::restore(engine.save(), policy());
  BERTH_ASSERT(copy.has_value());
  const Forecast found =
      forecast(std::move(*copy), job, {.now = engine.now(), .give_way = give_way});
  return {.at = engine.now(),
          .start = found.start,
          .is_bound = found.confidence == Confidence::Bound,
          .like = found.like};
}

std::vector<std::optional<StartInterval>> intervals_of(const Predictions& predictions,
                                                       const StartOf& start_of) {
  std::vector<std::optional<StartInterval>> intervals;
  PredictionErrors errors;
  std::set<std::pair<Instant, JobId>> to_start;
  for (const Prediction& one : predictions.waited) {
    while (!to_start.empty() && to_start.begin()->first <= one.at) {
      errors.start(to_start.begin()->second, to_start.begin()->first);
      to_start.erase(to_start.begin());
    }
    intervals.emplace_back();
    if (!one.start || one.is_bound) continue;
    const MadePrediction made{.like = one.like, .at = one.at, .start = *one.start};
    intervals.back() = interval_of(made, errors.quantiles(one.at));
    errors.predict(JobId(one.job + 1), made);
    to_start.emplace(start_of(one.job), JobId(one.job + 1));
  }
  return intervals;
}

}  // namespace berth::sim
