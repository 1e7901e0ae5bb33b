// How far off predicted starts were, and what that says of the next one: by when a job starts with
// 50 % and by when with 90 %.
//
// The error of a prediction is (actual wait - predicted wait) / predicted wait, both since it was
// made, in thousandths; a predicted wait of less than a minute counts as one. Of a job the first
// prediction counts: the last one before a start is always right.
//
// Errors are kept by class of like jobs, in a histogram. Each error takes a 64th of the weight of
// those before it, so what was right last year is soon forgotten. A job that still waits and is
// late counts with what it is late by so far; else those that start soon would teach alone, and the
// 90 % be too early where late jobs wait for long. Quantiles are rounded up, to the end of a step.
//
// Of fewer than kFewest like jobs too little is known, and a prior is told: the prediction is the
// median, and nine of ten start within 2.5 times their predicted wait. It is what `headroom` needs
// on mixes of workloads (doc/simulator.md). A value type, bounded, without doubles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "core/base/ids.hpp"
#include "core/base/time.hpp"

namespace berth {

/// The weakest of what a prediction rests on.
enum class Evidence : std::uint8_t {
  Known,    ///< Run times that users stated, and time limits.
  Learned,  ///< Run times of earlier runs.
  Unknown,  ///< Classes of jobs, and jobs that outlived what was expected of them.
};

enum class Extent : std::uint8_t { OneNode, Nodes };

/// A class of jobs whose predictions err alike.
struct LikeJobs {
  Evidence evidence = Evidence::Known;
  Extent extent = Extent::OneNode;

  auto operator<=>(const LikeJobs&) const = default;
};

/// Where an interval is from.
enum class ErrorSource : std::uint8_t { Prior, PastPredictions };

/// Not before the moment of the prediction, and `likely` <= `by`.
struct StartInterval {
  Instant likely;  ///< It starts by then with 50 %.
  Instant by;      ///< With 90 %.
  ErrorSource from = ErrorSource::Prior;

  bool operator==(const StartInterval&) const = default;
};

/// Errors of one class, in thousandths of the predicted wait.
struct ErrorQuantiles {
  std::int64_t half = 0;
  std::int64_t ninety = 1500;
  ErrorSource from = ErrorSource::Prior;

  bool operator==(const ErrorQuantiles&) const = default;
};

struct MadePrediction {
  LikeJobs like;
  Instant at;     ///< When it was made.
  Instant start;  ///< Predicted; not before `at`.

  bool operator==(const MadePrediction&) const = default;
};

class ErrorHistogram {
 public:
  /// The ends of its steps. What is later than the last counts as in it.
  static constexpr auto kSteps = std::to_array<std::int64_t>(
      {-900, -800, -700, -600, -500, -400, -300,  -200,  -100,  -50,   0,     50,    100,
       150,  200,  300,  400,  500,  600,  700,   800,   900,   1000,  1250,  1500,  1750,
       2000, 2500, 3000, 4000, 5000, 7500, 10000, 15000, 20000, 30000, 50000, 100000});

  /// That of a job that started, or is still waiting, at `actual`. Only add() makes those before
  /// it count less.
  void add(const MadePrediction& made, Instant actual);
  void put(const MadePrediction& made, Instant actual);
  /// How many were added.
  std::size_t count() const { return count_; }
  /// The least step's end that so many of 100 errors, and the next one, do not exceed. Requires: it
  /// is not empty.
  std::int64_t quantile(std::int64_t percent) const;

 private:
  std::array<std::int64_t, kSteps.size()> weights_{};
  std::size_t count_ = 0;
};

class PredictionErrors {
 public:
  static constexpr std::size_t kFewest = 20;
  static constexpr std::size_t kMostAwaited = 5000;

  using Quantiles = std::map<LikeJobs, ErrorQuantiles>;

  /// Notes the first prediction of a job that waits; others of it are ignored, and all while so
  /// many jobs are awaited.
  void predict(JobId job, const MadePrediction& made);
  /// It has started: its first prediction, if there is one, teaches.
  void start(JobId job, Instant at);
  /// It does not start, or was held meanwhile, which nobody can predict.
  void drop(JobId job) { awaited_.erase(job); }
  /// The first predictions of jobs that have not started.
  const std::map<JobId, MadePrediction>& awaited() const { return awaited_; }

  /// Of the classes that are known of, now. O(awaited).
  Quantiles quantiles(Instant now) const;

 private:
  std::map<LikeJobs, ErrorHistogram> errors_;
  std::map<JobId, MadePrediction> awaited_;
};

/// By when it starts, by the errors of like jobs; by the prior where these are not known of.
StartInterval interval_of(const MadePrediction& made, const PredictionErrors::Quantiles& known);

}  // namespace berth
