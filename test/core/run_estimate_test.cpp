// Goal: a job without an estimate gets the median of its own program's latest runs, no more than
// its limit; too few runs, and runs of anything else, show nothing; what a user says stands.
// Method: short histories worked out by hand.
#include "core/run_estimate.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace berth {
namespace {

constexpr UserId kAda(1);
constexpr UserId kBob(2);
constexpr Fingerprint kTraining(7);
constexpr Fingerprint kEval(8);

JobSpec job(UserId user = kAda, std::int64_t gpus = 1) {
  JobSpec spec{.user = user};
  spec.request.gpu.count = GpuCount(gpus);
  return spec;
}

class RunEstimate : public testing::Test {
 protected:
  void ran(UserId user, Fingerprint what, std::int64_t gpus,
           std::initializer_list<std::int64_t> runs) {
    for (const std::int64_t run : runs) runs_.add(user, what, {GpuCount(gpus), seconds(run)});
  }
  JobSpec learned(JobSpec spec, Fingerprint what, std::size_t fewest = kFewestRuns) const {
    learn_estimate(spec, what, {.runs = runs_, .fewest = fewest});
    return spec;
  }

  PastRuns runs_;
};

TEST_F(RunEstimate, IsTheMedianOfTheProgramsRuns) {
  ran(kAda, kTraining, 1, {10, 9000, 30, 20, 40});
  EXPECT_EQ(learned(job(), kTraining).estimate, seconds(30));
  EXPECT_EQ(learned(job(), kTraining).learned_from, 5);
  EXPECT_EQ(learned(job(kAda, 2), kTraining).estimate, seconds(30)) << "on any number of GPUs";
  ran(kAda, kTraining, 2, {400, 400, 400, 400});
  EXPECT_EQ(learned(job(kAda, 2), kTraining).learned_from, 9) << "four on as many are too few";
  ran(kAda, kTraining, 2, {400});
  EXPECT_EQ(learned(job(kAda, 2), kTraining).estimate, seconds(400));
  EXPECT_EQ(learned(job(kAda, 2), kTraining).learned_from, 5);
}

TEST_F(RunEstimate, IsUnknownBelowFiveRunsOrAsManyAsAreWanted) {
  ran(kAda, kTraining, 1, {10, 10, 10, 10});
  EXPECT_EQ(learned(job(), kTraining), job());
  EXPECT_EQ(learned(job(), kTraining, 4).estimate, seconds(10));
  ran(kAda, kTraining, 1, {10});
  EXPECT_EQ(learned(job(), kTraining).estimate, seconds(10));
  EXPECT_EQ(learned(job(), kTraining, 6), job());
}

TEST_F(RunEstimate, RunsOfOtherProgramsAndUsersShowNothing) {
  for (int i = 0; i < 12; ++i) ran(kAda, kEval, 1, {0});
  for (int i = 0; i < 2000; ++i) ran(kBob, kTraining, 1, {0});
  EXPECT_EQ(learned(job(), kTraining), job());
  EXPECT_EQ(learned(job(), Fingerprint(0)), job());
  ran(kAda, kTraining, 1, {5, 5, 5, 5, 5});
  for (int i = 0; i < 2000; ++i) ran(kBob, kTraining, 1, {0});
  EXPECT_EQ(learned(job(), kTraining).estimate, seconds(5));
}

TEST_F(RunEstimate, OnlyTheLatestRunsCount) {
  for (int i = 0; i < 100; ++i) ran(kAda, kTraining, 1, {1000});
  EXPECT_EQ(learned(job(), kTraining).learned_from, 32);
  for (int i = 0; i < 17; ++i) ran(kAda, kTraining, 1, {10});
  EXPECT_EQ(learned(job(), kTraining).estimate, seconds(10));
}

TEST_F(RunEstimate, StaysWithinTheLimitAndIsNeverNothing) {
  ran(kAda, kTraining, 1, {100, 100, 100, 100, 100});
  ran(kAda, kEval, 1, {0, 0, 0, 0, 0});
  JobSpec limited = job();
  limited.time_limit = seconds(60);
  EXPECT_EQ(learned(limited, kTraining).estimate, seconds(60));
  EXPECT_EQ(learned(limited, kTraining).time_limit, seconds(60));
  EXPECT_EQ(learned(limited, kEval).estimate, Duration(1));
}

TEST_F(RunEstimate, WhatTheUserSaysStands) {
  ran(kAda, kTraining, 1, {100, 100, 100, 100, 100});
  JobSpec stated = job();
  stated.estimate = seconds(5);
  EXPECT_EQ(learned(stated, kTraining), stated);
  JobSpec unknown = job();
  unknown.duration_class = DurationClass::Long;
  unknown.time_limit = hours(10);
  EXPECT_EQ(learned(unknown, Fingerprint(9)), unknown);
}

TEST_F(RunEstimate, RunsThatWereShorterThanAJobHasRunSayNothingOfItsEnd) {
  ran(kAda, kTraining, 1, {10, 20, 30, 300, 300});
  ran(kAda, kTraining, 2, {4000});
  const auto like = [&](std::int64_t beyond) {
    return runs_like(job(), kTraining, {.runs = runs_}, seconds(beyond));
  };
  EXPECT_EQ(like(20), (std::vector<Duration>{seconds(30), seconds(300), seconds(300)}));
  EXPECT_EQ(like(300), std::vector<Duration>{seconds(4000)}) << "on other numbers of GPUs";
  EXPECT_TRUE(like(4000).empty());
}

}  // namespace
}  // namespace berth
