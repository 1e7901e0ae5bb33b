// Goal: the simulated half of the evaluation follows its stated model and keeps the promise.
// Method: small workloads whose outcome the model gives by hand; the evaluation's own over seeds.
#include "lab/simulate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::lab {
namespace {

using namespace literals;

Task task(Bytes needs, double duty) {
  return {.name = "t",
          .at = Duration(10'000),
          .asks = needs,
          .needs = needs,
          .ramp = Duration(500'000),
          .steps = 100,
          .step = Duration(20'000),
          .duty = duty};
}

Run run_of(std::vector<Task> tasks, const Way& way, std::uint32_t gpus = 1) {
  Gpus machine = two_cards();
  machine.count = gpus;
  const auto run = simulate({.users = {"a"}, .tasks = std::move(tasks)}, machine, way);
  EXPECT_TRUE(run.has_value()) << run.error().message;
  return run.value_or(Run{});
}

std::vector<std::string> states(const Run& run) {
  std::vector<std::string> states;
  for (const Fate& fate : run.fates) states.push_back(fate.state);
  return states;
}

Duration ran(const Fate& fate) { return fate.ended - fate.started; }

TEST(Simulate, AJobAloneTakesItsSoloTime) {
  const auto run = run_of({task(4_GiB, 0.37)}, kHeadroom);
  ASSERT_EQ(run.fates.size(), 1U);
  EXPECT_EQ(run.fates[0].state, "done");
  EXPECT_GE(ran(run.fates[0]), seconds(2));
  EXPECT_LE(ran(run.fates[0]), seconds(2) + Duration(2'000));
}

TEST(Simulate, TwoThatWantTheWholeGpuTakeTwiceAsLong) {
  const auto run = run_of({task(4_GiB, 1.0), task(4_GiB, 1.0)}, kHeadroom);
  for (const Fate& fate : run.fates) {
    EXPECT_EQ(fate.state, "done");
    EXPECT_GE(ran(fate), Duration(3'900'000));
    EXPECT_LE(ran(fate), Duration(4'100'000));
  }
}

TEST(Simulate, WithoutASchedulerWhoAllocatesLastDies) {
  const auto run = run_of({task(14_GiB, 0.2), task(14_GiB, 0.2)}, kNone);
  EXPECT_THAT(states(run), testing::UnorderedElementsAre("done", "oom"));
}

TEST(Simulate, PollingStartsTheSecondDuringTheFirstOnesRamp) {
  const auto run = run_of({task(14_GiB, 0.2), task(14_GiB, 0.2)}, kFreeMemory);
  EXPECT_THAT(states(run), testing::Contains("oom"));
}

TEST(Simulate, TheGuaranteeMakesTheSecondWaitForTheFirst) {
  const auto run = run_of({task(14_GiB, 0.2), task(14_GiB, 0.2)}, kHeadroom);
  EXPECT_EQ(run.fates[0].state, "done");
  EXPECT_EQ(run.fates[1].state, "done");
  EXPECT_GE(run.fates[1].started, run.fates[0].ended);
}

TEST(Simulate, WhoAsksTooLittleIsTriedAgainWithMore) {
  Task greedy = task(14_GiB, 0.2);
  greedy.asks = 6_GiB;
  greedy.retries = 3;
  Task honest = task(12_GiB, 0.2);
  honest.ramp = Duration(100'000);  // what polling sees too late is not this test's
  const auto run = run_of({honest, greedy}, kHeadroom);
  EXPECT_EQ(run.fates[0].state, "done") << "a neighbour within its request";
  EXPECT_EQ(run.fates[1].state, "done");
  EXPECT_GT(run.fates[1].attempts, 1);
}

TEST(Simulate, TheEvaluationLosesNothingUnderTheGuaranteeAndSomethingWithoutIt) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Workload workload = mixed_workload(seed);
    for (const Way& way : kAllWays) {
      const auto run = simulate(workload, two_cards(), way);
      ASSERT_TRUE(run.has_value()) << run.error().message;
      const Score got = score(workload, *run);
      const auto all = static_cast<int>(workload.tasks.size());
      EXPECT_EQ(got.finished + got.oom_by_admission, all) << way.name << " seed " << seed;
      if (way.admission == AdmissionMode::Guarantee) {
        EXPECT_EQ(got.oom_by_admission, 0) << way.name << " seed " << seed;
      } else {
        EXPECT_GT(got.oom_by_admission, 0) << way.name << " seed " << seed;
      }
    }
  }
}

TEST(Simulate, TheSameWorkloadGivesTheSameFates) {
  const Workload workload = mixed_workload(4);
  const auto one = simulate(workload, two_cards(), kHeadroom);
  const auto other = simulate(workload, two_cards(), kHeadroom);
  ASSERT_TRUE(one.has_value());
  ASSERT_TRUE(other.has_value());
  for (std::size_t i = 0; i < one->fates.size(); ++i) {
    EXPECT_EQ(one->fates[i].started, other->fates[i].started);
    EXPECT_EQ(one->fates[i].ended, other->fates[i].ended);
  }
}

}  // namespace
}  // namespace berth::lab
