// Goal: plans take the GPUs, at the times, that ElasticFlow's rule says. Method: four GPUs and jobs
// whose speed is their number of GPUs, in slots of 10 s, worked by hand.
#include "policy/whole/deadline_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace berth::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

const std::vector<Rate>& linear() {
  static const std::vector<Rate> kSpeeds{Rate(Rate::kWhole), Rate(2 * Rate::kWhole),
                                         Rate(3 * Rate::kWhole), Rate(4 * Rate::kWhole)};
  return kSpeeds;
}

Instant at(std::int64_t second) { return kStart + seconds(second); }

SizedJob planned_job(std::int64_t work, std::int64_t most, Instant deadline = kNever) {
  return {.most = most, .left = seconds(work), .speeds = linear(), .deadline = deadline};
}

FreeGpus four_gpus() { return {kStart, seconds(10), 4}; }

TEST(DeadlineLevels, AreTheLeastDoubledAndTheMost) {
  const SizedJob job{.least = 2, .most = 6};
  std::vector<std::int64_t> within;
  std::vector<std::int64_t> above;
  for (const std::int64_t gpus : {0, 1, 2, 3, 4, 5, 6, 9}) {
    within.push_back(level_within(job, gpus));
    above.push_back(level_above(job, gpus));
  }
  EXPECT_THAT(within, ElementsAre(0, 0, 2, 2, 4, 4, 6, 6));
  EXPECT_THAT(above, ElementsAre(2, 2, 4, 4, 6, 6, 6, 6));
}

TEST(DeadlinePlan, SoonestTakesTheLargestLevelUntilTheWorkIsDone) {
  FreeGpus free = four_gpus();
  const DeadlinePlan first = free.take_soonest(planned_job(30, 2));
  EXPECT_THAT(first.gpus, ElementsAre(Pair(at(0), 2)));
  EXPECT_EQ(first.end, at(15));
  EXPECT_EQ(first.until, at(20));
  const DeadlinePlan second = free.take_soonest(planned_job(60, 4));
  EXPECT_THAT(second.gpus, ElementsAre(Pair(at(0), 2), Pair(at(20), 4)));
  EXPECT_EQ(second.end, at(25));
  EXPECT_EQ(second.until, at(30));
}

TEST(DeadlinePlan, WithTooFewGpusHasNoEnd) {
  FreeGpus free = four_gpus();
  EXPECT_EQ(free.take_soonest({.least = 8, .most = 8, .left = seconds(1), .speeds = linear()}).end,
            kNever);
}

/// One GPU is taken up to 10 s.
FreeGpus three_then_four() {
  FreeGpus free = four_gpus();
  free.take_soonest(planned_job(10, 1));
  return free;
}

TEST(DeadlinePlan, FewestBeginsALevelAsLateAsThatWillDo) {
  FreeGpus free = three_then_four();
  const DeadlinePlan plan = free.take_fewest(planned_job(35, 4, at(30)));
  EXPECT_THAT(plan.gpus, ElementsAre(Pair(at(0), 1), Pair(at(10), 2)));
  EXPECT_EQ(plan.end, at(23)) << "12.5 s of work, in whole seconds";
  EXPECT_EQ(plan.until, at(30));
}

TEST(DeadlinePlan, WithMoreNowNeedsFewerLater) {
  FreeGpus free = three_then_four();
  const DeadlinePlan plan = free.take_fewest(planned_job(35, 4, at(30)), 2);
  EXPECT_THAT(plan.gpus, ElementsAre(Pair(at(0), 2), Pair(at(10), 1)));
  EXPECT_EQ(plan.end, at(25));
}

TEST(DeadlinePlan, ThatCannotBeInTimeTakesAllThatIsFree) {
  FreeGpus free = four_gpus();
  free.take_soonest(planned_job(20, 2));
  const DeadlinePlan plan = free.take_fewest(planned_job(100, 4, at(20)));
  EXPECT_THAT(plan.gpus, ElementsAre(Pair(at(0), 2), Pair(at(10), 4)));
  EXPECT_EQ(plan.end, at(30)) << "20 of its work are done by 10 s, 40 more by 20 s";
  FreeGpus other = four_gpus();
  EXPECT_EQ(other.take_fewest(planned_job(40, 4, kStart - seconds(5))).end, at(10));
}

TEST(DeadlinePlan, ThatIsPutBackLeavesNothingBehind) {
  FreeGpus free = three_then_four();
  const SizedJob job = planned_job(35, 4, at(30));
  const DeadlinePlan plan = free.take_fewest(job);
  free.put_back(plan);
  EXPECT_EQ(free.now(), 3);
  EXPECT_EQ(free.take_fewest(job).gpus, plan.gpus);
}

TEST(ElasticFlowPlans, PromiseADeadlineIfAllPromisedOnesAreKept) {
  std::vector<SizedJob> jobs{planned_job(100, 4, at(60)), planned_job(100, 4, at(30)),
                             planned_job(40, 4, at(20)), planned_job(10, 4)};
  const auto plans = elasticflow_plans(jobs, four_gpus());
  EXPECT_EQ(plans.size(), 2U);
  std::vector<Promise> promises;
  std::vector<std::int64_t> gpus;
  for (const SizedJob& job : jobs) promises.push_back(job.promise), gpus.push_back(job.gpus);
  EXPECT_THAT(promises,
              ElementsAre(Promise::Given, Promise::Given, Promise::Refused, Promise::Refused));
  EXPECT_THAT(gpus, ElementsAre(0, 4, 0, 0)) << "the first can wait for the second";
}

TEST(ElasticFlowPlans, KeepAPromiseWhenAMoreUrgentJobComes) {
  std::vector<SizedJob> jobs{planned_job(100, 4, at(30)), planned_job(40, 4, at(10))};
  jobs.front().promise = Promise::Given;
  elasticflow_plans(jobs, four_gpus());
  EXPECT_EQ(jobs.back().promise, Promise::Refused);
  EXPECT_EQ(jobs.front().gpus, 4);
}

TEST(ElasticFlowPlans, GiveWhatIsLeftToJobsBehindFirst) {
  std::vector<SizedJob> jobs{planned_job(20, 4, at(30)), planned_job(100, 1), planned_job(100, 4)};
  elasticflow_plans(jobs, four_gpus());
  EXPECT_EQ(jobs[0].gpus, 2) << "one is enough; the fourth is left when both have one";
  EXPECT_EQ(jobs[1].gpus, 1);
  EXPECT_EQ(jobs[2].gpus, 1);
}

}  // namespace
}  // namespace berth::test
