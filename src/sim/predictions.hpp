// The quality of predicted starts: the starts of some jobs are predicted at submission, by the
// forecast that `berth why` shows (engine/forecast.hpp), and compared with the actual starts.
//
// Each prediction runs a copy of the engine forward, up to the start or to the forecast's own
// bounds on steps and days. The run itself is not changed by it. Intervals are what berthd would
// have told with each, from the errors of the predictions before it
// (core/knowledge/prediction_errors.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/knowledge/prediction_errors.hpp"
#include "policy/policy.hpp"

namespace berth {
class Engine;
struct GiveWay;
}  // namespace berth

namespace berth::sim {

/// A fresh one, as the run's own is without its memory.
using MakePolicy = std::function<std::unique_ptr<Policy>()>;

/// Of a job that did not start at once.
struct Prediction {
  std::size_t job = 0;           ///< Index in the trace.
  Instant at;                    ///< When it was asked: its submission.
  std::optional<Instant> start;  ///< Nothing where the forecast knows none.
  bool is_bound = false;         ///< It rests on time limits only.
  LikeJobs like = {};
};

/// The predictions of a run.
struct Predictions {
  std::size_t asked = 0;    ///< Jobs.
  std::size_t at_once = 0;  ///< Of those, started when they were submitted: nothing to predict.
  std::vector<Prediction> waited;  ///< The others, by submission.
};

/// True for `most` of so many jobs, evenly spread over their places; for all if there are fewer.
constexpr bool is_asked(std::size_t job, std::size_t jobs, std::size_t most) {
  return most >= jobs || (job + 1) * most / jobs > job * most / jobs;
}

/// What is predicted of this waiting job now; `job` of it is left to the caller. O(jobs the engine
/// knows) and a step for every end to come before.
Prediction prediction_of(const Engine& engine, JobId job, const MakePolicy& policy,
                         const GiveWay& give_way);

/// When a job started; kNever if it never did.
using StartOf = std::function<Instant(std::size_t job)>;

/// The interval of each of the `waited`, by what those before it had shown when it was predicted;
/// nothing where no start is predicted, or a bound is.
std::vector<std::optional<StartInterval>> intervals_of(const Predictions& predictions,
                                                       const StartOf& start_of);

}  // namespace berth::sim
