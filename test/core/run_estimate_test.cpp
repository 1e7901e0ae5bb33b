// Goal: a job without an estimate gets the median run of the latest jobs like it, no more than its
// limit; what a user says stands.
// Method: short histories worked out by hand.
#include "core/run_estimate.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace berth {
namespace {

constexpr UserId kAda(1);
constexpr UserId kBob(2);
constexpr Fingerprint kTrain(7);
constexpr Fingerprint kEval(8);

Ended run(UserId user, Fingerprint what, std::int64_t gpus, std::int64_t ran) {
  return {.user = user, .what = what, .gpus = GpuCount(gpus), .ran = seconds(ran)};
}

JobSpec job(UserId user = kAda, std::int64_t gpus = 1) {
  JobSpec spec{.user = user};
  spec.request.gpu.count = GpuCount(gpus);
  return spec;
}

JobSpec learned(JobSpec spec, Fingerprint what, const std::vector<Ended>& ended) {
  learn_estimate(spec, what, ended);
  return spec;
}

TEST(RunEstimate, IsTheMedianOfRunsOfTheMostTellingKind) {
  const std::vector<Ended> ended = {run(kAda, kTrain, 1, 10),  run(kAda, kTrain, 1, 9000),
                                    run(kAda, kTrain, 1, 30),  run(kAda, kTrain, 2, 400),
                                    run(kAda, kEval, 4, 5000), run(kAda, kEval, 4, 6000),
                                    run(kBob, kTrain, 1, 1),   run(kBob, kTrain, 8, 2)};
  const auto expect = [&](const JobSpec& asked, Fingerprint what, std::int64_t run, int from) {
    const JobSpec told = learned(asked, what, ended);
    EXPECT_EQ(told.estimate, seconds(run));
    EXPECT_EQ(told.learned_from, from);
  };
  expect(job(kAda, 1), kTrain, 30, 3);            // its program, on as many GPUs
  expect(job(kAda, 2), kTrain, 400, 1);           // likewise
  expect(job(kAda, 8), kTrain, 30, 4);            // its program
  expect(job(kAda, 4), Fingerprint(0), 5000, 2);  // its user, on as many GPUs
  expect(job(kAda, 8), Fingerprint(0), 400, 6);   // its user
  expect(job(UserId(3), 8), kTrain, 2, 1);        // anybody, on as many GPUs
  expect(job(UserId(3), 3), kTrain, 30, 8);       // anybody
}

TEST(RunEstimate, OnlyTheLatestRunsCount) {
  std::vector<Ended> ended(100, run(kAda, kTrain, 1, 1000));
  EXPECT_EQ(learned(job(), kTrain, ended).learned_from, 32);
  for (int i = 0; i < 17; ++i) ended.push_back(run(kAda, kTrain, 1, 10));
  EXPECT_EQ(learned(job(), kTrain, ended).estimate, seconds(10));
}

TEST(RunEstimate, StaysWithinTheLimitAndIsNeverNothing) {
  JobSpec limited = job();
  limited.time_limit = seconds(60);
  EXPECT_EQ(learned(limited, kTrain, {run(kAda, kTrain, 1, 100)}).estimate, seconds(60));
  EXPECT_EQ(learned(limited, kTrain, {run(kAda, kTrain, 1, 40)}).estimate, seconds(40));
  EXPECT_EQ(learned(job(), kTrain, {run(kAda, kTrain, 1, 0)}).estimate, Duration(1));
  EXPECT_EQ(learned(limited, kTrain, {run(kAda, kTrain, 1, 100)}).time_limit, seconds(60));
}

TEST(RunEstimate, WhatTheUserSaysStands) {
  const std::vector<Ended> ended = {run(kAda, kTrain, 1, 100), run(kAda, kEval, 1, 9000)};
  JobSpec stated = job();
  stated.estimate = seconds(5);
  EXPECT_EQ(learned(stated, kTrain, ended), stated);
  JobSpec classed = job();
  classed.duration_class = DurationClass::Short;
  EXPECT_EQ(learned(classed, Fingerprint(9), ended), classed) << "other programs show nothing";
  EXPECT_EQ(learned(classed, kTrain, ended).estimate, seconds(100));
  classed.duration_class = DurationClass::Service;
  EXPECT_EQ(learned(classed, Fingerprint(0), ended), classed);
}

TEST(RunEstimate, WhatDidNotEndByItselfShowsNothing) {
  std::vector<Ended> ended = {run(kAda, kTrain, 1, 100), run(kAda, kTrain, 1, 1)};
  ended[1].outcome = Outcome::Lost;
  EXPECT_EQ(learned(job(), kTrain, ended).estimate, seconds(100));
  ended[1].outcome = Outcome::Oom;
  EXPECT_EQ(learned(job(), kTrain, ended).estimate, seconds(100));
  ended[1].outcome = Outcome::Failed;
  EXPECT_EQ(learned(job(), kTrain, ended).estimate, seconds(1));
  EXPECT_EQ(learned(job(), kTrain, {}), job());
}

TEST(RunEstimate, RunsThatWereShorterThanAJobHasRunSayNothingOfItsEnd) {
  const std::vector<Ended> ended = {run(kAda, kTrain, 1, 10), run(kAda, kTrain, 1, 20),
                                    run(kAda, kTrain, 1, 300), run(kAda, kEval, 1, 4000)};
  const auto like = [&](std::int64_t beyond) {
    return runs_like(job(), kTrain, ended, seconds(beyond));
  };
  EXPECT_EQ(like(10), (std::vector<Duration>{seconds(20), seconds(300)}));
  EXPECT_EQ(like(299), std::vector<Duration>{seconds(300)});
  EXPECT_EQ(like(300), std::vector<Duration>{seconds(4000)}) << "of the user";
  EXPECT_TRUE(like(4000).empty());
}

}  // namespace
}  // namespace berth
