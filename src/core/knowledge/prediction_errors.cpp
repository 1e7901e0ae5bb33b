#include "core/knowledge/prediction_errors.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/assert.hpp"

namespace berth {

namespace {

constexpr std::int64_t kWeight = std::int64_t{1} << 20;  ///< Of one error.
constexpr std::int64_t kForgetting = 64;
constexpr std::int64_t kThousand = 1000;
constexpr Duration kLongestWait = hours(24 * 365 * 2);  ///< Keeps products within 64 bits.

/// What an error is measured by.
Duration predicted_wait(const MadePrediction& made) {
  return std::clamp(made.start - made.at, minutes(1), kLongestWait);
}

}  // namespace

void ErrorHistogram::put(const MadePrediction& made, Instant actual) {
  const std::int64_t wait = micros(predicted_wait(made));
  const std::int64_t late =
      micros(std::clamp(actual - made.start, -kLongestWait, kLongestWait)) * kThousand;
  const auto step =
      std::ranges::find_if(kSteps, [&](std::int64_t end) { return late <= end * wait; });
  const auto at = static_cast<std::size_t>(step - kSteps.begin());
  weights_[std::min(at, kSteps.size() - 1)] += kWeight;
}

void ErrorHistogram::add(const MadePrediction& made, Instant actual) {
  for (std::int64_t& weight : weights_) weight -= weight / kForgetting;
  put(made, actual);
  ++count_;
}

std::int64_t ErrorHistogram::quantile(std::int64_t percent) const {
  const auto all = std::accumulate(weights_.begin(), weights_.end(), std::int64_t{0});
  BERTH_ASSERT(all > 0);
  const std::int64_t wanted = std::min((all + kWeight) / 100 * percent, all);
  std::int64_t sum = 0;
  std::size_t at = 0;
  while (sum + weights_[at] < wanted) sum += weights_[at++];
  return kSteps[at];
}

void PredictionErrors::predict(JobId job, const MadePrediction& made) {
  if (awaited_.size() < kMostAwaited) awaited_.try_emplace(job, made);
}

void PredictionErrors::start(JobId job, Instant at) {
  const auto found = awaited_.find(job);
  if (found == awaited_.end()) return;
  errors_[found->second.like].add(found->second, at);
  awaited_.erase(found);
}

PredictionErrors::Quantiles PredictionErrors::quantiles(Instant now) const {
  std::map<LikeJobs, ErrorHistogram> errors = errors_;
  for (const auto& [job, made] : awaited_) {
    const auto like = errors.find(made.like);
    if (like != errors.end() && made.start < now) like->second.put(made, now);
  }
  Quantiles all;
  for (const auto& [like, of] : errors) {
    if (of.count() < kFewest) continue;
    all[like] = {
        .half = of.quantile(50), .ninety = of.quantile(90), .from = ErrorSource::PastPredictions};
  }
  return all;
}

StartInterval interval_of(const MadePrediction& made, const PredictionErrors::Quantiles& known) {
  const auto like = known.find(made.like);
  const ErrorQuantiles errors = like == known.end() ? ErrorQuantiles() : like->second;
  const Duration wait = predicted_wait(made);
  const auto at = [&](std::int64_t error) {
    return std::max(made.at, later(made.start, wait * error / kThousand));
  };
  return {.likely = at(errors.half), .by = at(errors.ninety), .from = errors.from};
}

}  // namespace berth
