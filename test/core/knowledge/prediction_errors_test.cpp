// Goal: intervals hold what past predictions of like jobs show, say when that is too little, and
// follow a machine that changes. Method: errors worked out by hand.
#include "core/knowledge/prediction_errors.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr LikeJobs kLearned{.evidence = Evidence::Learned};

/// Predicted at the origin, to start in 100 s.
constexpr MadePrediction kIn100s{.like = {}, .at = kStart, .start = kStart + seconds(100)};

/// Jobs with numbers from `first` on that start after `waits`, one after the other.
void teach(PredictionErrors& errors, std::uint64_t first, std::initializer_list<int> waits,
           int times = 1) {
  for (int i = 0; i < times; ++i) {
    for (const int wait : waits) {
      const JobId job(first++);
      errors.predict(job, kIn100s);
      errors.start(job, kStart + seconds(wait));
    }
  }
}

StartInterval told(const PredictionErrors& errors, Instant now = kStart) {
  const MadePrediction made{.like = {}, .at = now, .start = now + seconds(100)};
  return interval_of(made, errors.quantiles(now));
}

StartInterval from_past(int likely, int by) {
  return {.likely = kStart + seconds(likely),
          .by = kStart + seconds(by),
          .from = ErrorSource::PastPredictions};
}

TEST(PredictionErrorsTest, FewJobsTellNothing) {
  PredictionErrors errors;
  teach(errors, 1, {500}, PredictionErrors::kFewest - 1);
  const StartInterval prior{.likely = kStart + seconds(100), .by = kStart + seconds(250)};
  EXPECT_EQ(prior.from, ErrorSource::Prior);
  EXPECT_EQ(told(errors), prior);
  teach(errors, 100, {500});
  EXPECT_EQ(told(errors), from_past(500, 500));
}

TEST(PredictionErrorsTest, NineOfTenStartedByTheSecond) {
  PredictionErrors errors;
  teach(errors, 1, {100, 80, 150, 100, 100, 200, 100, 90, 120, 100}, 10);
  EXPECT_EQ(told(errors), from_past(100, 200));
  EXPECT_EQ(errors.quantiles(kStart).size(), 1U);
}

TEST(PredictionErrorsTest, WhatIsAlwaysTooLateIsToldEarlier) {
  PredictionErrors errors;
  teach(errors, 1, {40, 50, 60}, 10);
  EXPECT_EQ(told(errors), from_past(50, 60));
}

TEST(PredictionErrorsTest, NoIntervalBeginsInThePast) {
  PredictionErrors errors;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    errors.predict(JobId(i), {.like = {}, .at = kStart, .start = kStart + seconds(60)});
    errors.start(JobId(i), kStart);
  }
  const MadePrediction soon{.like = {}, .at = kStart, .start = kStart + seconds(5)};
  EXPECT_EQ(interval_of(soon, errors.quantiles(kStart)), from_past(0, 0));
}

TEST(PredictionErrorsTest, AWaitOfLessThanAMinuteCountsAsOne) {
  PredictionErrors errors;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    errors.predict(JobId(i), {.like = {}, .at = kStart, .start = kStart + seconds(6)});
    errors.start(JobId(i), kStart + seconds(36));
  }
  EXPECT_EQ(told(errors), from_past(150, 150)) << "half a minute of a minute";
}

TEST(PredictionErrorsTest, EachClassIsForItself) {
  PredictionErrors errors;
  teach(errors, 1, {300}, 30);
  const MadePrediction other{.like = kLearned, .at = kStart, .start = kStart + seconds(100)};
  EXPECT_EQ(interval_of(other, errors.quantiles(kStart)).from, ErrorSource::Prior);
  const MadePrediction wide{.like = {.extent = Extent::Nodes}, .at = kStart, .start = kStart};
  EXPECT_EQ(interval_of(wide, errors.quantiles(kStart)).from, ErrorSource::Prior);
}

TEST(PredictionErrorsTest, WhatWasRightLongAgoIsForgotten) {
  PredictionErrors errors;
  teach(errors, 1, {100}, 1000);
  EXPECT_EQ(told(errors), from_past(100, 100));
  teach(errors, 2000, {300}, 300);
  EXPECT_EQ(told(errors), from_past(300, 300));
}

TEST(PredictionErrorsTest, TheFirstPredictionCounts) {
  PredictionErrors errors;
  teach(errors, 1, {100}, 19);
  errors.predict(JobId(50), kIn100s);
  errors.predict(JobId(50), {.like = {}, .at = kStart, .start = kStart + seconds(400)});
  EXPECT_EQ(errors.awaited().at(JobId(50)), kIn100s);
  errors.drop(JobId(50));
  errors.start(JobId(50), kStart + seconds(400));
  EXPECT_EQ(told(errors).from, ErrorSource::Prior);
  EXPECT_TRUE(errors.awaited().empty());
}

/// Three of ten wait on for long: only the others have started.
TEST(PredictionErrorsTest, JobsThatAreLateCountBeforeTheyStart) {
  PredictionErrors errors;
  teach(errors, 1, {100}, 21);
  for (std::uint64_t i = 100; i < 109; ++i) errors.predict(JobId(i), kIn100s);
  EXPECT_EQ(told(errors), from_past(100, 100)) << "not late yet";
  const Instant now = kStart + seconds(600);
  EXPECT_EQ(told(errors, now).likely, now + seconds(100));
  EXPECT_EQ(told(errors, now).by, now + seconds(600));
}

TEST(PredictionErrorsTest, AreBounded) {
  PredictionErrors errors;
  for (std::uint64_t i = 1; i <= PredictionErrors::kMostAwaited + 5; ++i) {
    errors.predict(JobId(i), kIn100s);
  }
  EXPECT_EQ(errors.awaited().size(), PredictionErrors::kMostAwaited);
  PredictionErrors far;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    far.predict(JobId(i), {.like = {}, .at = kStart, .start = kStart + hours(1'000'000)});
    far.start(JobId(i), kStart + hours(2'000'000));
  }
  EXPECT_EQ(far.quantiles(kStart).begin()->second.ninety, 1000);
}

}  // namespace
}  // namespace berth
