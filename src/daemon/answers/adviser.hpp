// Hints as JSON: what users could ask for instead (engine/hint.hpp), for as long as there is time.
//
// Belongs to the forecaster's thread; every question is put to a copy of the engine of its own.
#pragma once

#include <functional>
#include <optional>
#include <set>

#include "core/knowledge/prediction_errors.hpp"
#include "daemon/loop/json_text.hpp"
#include "engine/forecast.hpp"
#include "engine/hint.hpp"

namespace berth::daemon {

class Adviser {
 public:
  struct Rules {
    ForecastOptions options;           ///< Of runs into the future; with the time of the question.
    std::set<Wanting> fixed;           ///< What the asker cannot change of the job.
    Duration longest_time = kForever;  ///< That a time limit may be.
    PredictionErrors::Quantiles errors;  ///< Of the predictions before.
    std::function<bool()> has_time;
  };
  /// The engine as it was when the question was put; nothing if it cannot be made.
  using Copy = std::function<std::optional<Engine>()>;

  Adviser(Copy copy, Rules rules) : copy_(std::move(copy)), rules_(std::move(rules)) {}

  /// Of a job that waits, for which this was predicted: the cheapest first. None for one that
  /// starts at once.
  Json of_job(JobId job, const Forecast& found) const;
  /// The same of a job that does not exist.
  Json of_wish(const JobSpec& spec, const Forecast& found) const;
  /// Of all that wait, but for those that start at once: the cheapest hint alone that starts the
  /// job at once, and of jobs that ask alike for the first.
  Json of_all(const std::vector<PredictedStart>& starts) const;

 private:
  struct Subject {
    JobId job;
    const JobSpec& spec;
    bool exists = true;
    std::optional<Instant> start = std::nullopt;
  };
  enum class Reach : std::uint8_t { AtOnce, Ahead };

  std::vector<Hint> hints(const Subject& about, const Engine& engine, Reach reach) const;
  std::optional<Answered> at_once(const Subject& about, const JobSpec& changed) const;
  std::optional<Answered> ahead(const Subject& about, const JobSpec& changed) const;
  Instant now(const Engine& engine) const { return std::max(rules_.options.now, engine.now()); }

  Copy copy_;
  Rules rules_;
};

}  // namespace berth::daemon
