// Goal: the earliest start is the first planned end after which the job fits, and its place is one
// the job would take.
// Method: occupants with planned ends; cases that need none, some, all and the impossible.
#include "policy/kit/timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {

namespace {

using test::Scene;
using test::uniform;
using test::whole;

class Timeline : public testing::Test {
 protected:
  std::optional<Earliest> earliest(JobId job) {
    const ClusterView view = scene_.view();
    Trial trial = view.trial();
    const Occupancy before = trial.use();
    std::vector<Leaving> leaving;
    for (const JobId id : view.running()) {
      const JobView occupant = view.job(id);
      leaving.push_back(
          {planned_end(occupant, view.now()), occupant.grant_number(), &occupant.grant()});
    }
    std::ranges::sort(leaving, {}, &Leaving::at);
    const Ask ask = ask_of(view.job(job));
    Leavers leavers(leaving.size(), [next = leaving.begin()]() mutable { return *next++; });
    auto found = earliest_start({job, ask}, *first_fit({}), leavers, trial);
    EXPECT_EQ(trial.use(), before) << "the trial is left as it was";
    return found;
  }

  Scene scene_{uniform(2, 2)};
};

TEST_F(Timeline, NowIfItFitsNow) {
  scene_.run(whole(2, seconds(50)), {0, 1});
  scene_.at(kStart + seconds(7));
  const auto found = earliest(scene_.wait(whole(2, seconds(1))));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->gone, 0U);
  EXPECT_EQ(found->placement.gpus, (std::vector{GpuId(2), GpuId(3)}));
}

TEST_F(Timeline, AfterTheFirstEndThatMakesRoom) {
  scene_.run(whole(1, seconds(30)), {0});
  scene_.run(whole(1, seconds(90)), {1});
  scene_.run(whole(1, seconds(20)), {2});
  scene_.run(whole(1, seconds(60)), {3});
  const auto pair = earliest(scene_.wait(whole(2, seconds(1))));
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->from, kStart + seconds(60)) << "the second node is free then, the first at 90";
  EXPECT_EQ(pair->placement.gpus, (std::vector{GpuId(2), GpuId(3)}));
  const auto all = earliest(scene_.wait(whole(4, seconds(1))));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->from, kStart + seconds(90));
}

TEST_F(Timeline, AtNoKnownTimeBehindAJobWithoutAPlan) {
  scene_.run(whole(2, kForever), {0, 1});
  scene_.run(whole(2, seconds(5)), {2, 3});
  const auto found = earliest(scene_.wait(whole(4, seconds(1))));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->from, kNever);
  EXPECT_EQ(found->placement.gpus.size(), 4U);
}

TEST_F(Timeline, AnOutlivedEstimateEndsNow) {
  const JobId late = scene_.run(whole(4, seconds(10)), {0, 1, 2, 3});
  scene_.at(kStart + seconds(99));
  EXPECT_EQ(planned_end(scene_.look(late), scene_.view().now()), kStart + seconds(99));
  const auto found = earliest(scene_.wait(whole(1, seconds(1))));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->from, kStart + seconds(99));
}

TEST_F(Timeline, NothingForWhatCannotFitEvenThen) {
  scene_.run(whole(1, seconds(10)), {0});
  scene_.state().ledger.set_gpu(scene_.state().cluster, GpuId(3), {.healthy = false});
  EXPECT_FALSE(earliest(scene_.wait(whole(4, seconds(1)))));
}

TEST_F(Timeline, AStoppingJobEndsNow) {
  const JobId job = scene_.run(whole(4, kForever), {0, 1, 2, 3});
  scene_.job(job).state = JobState::Stopping;
  EXPECT_EQ(planned_end(scene_.look(job), scene_.view().now()), kStart);
}

}  // namespace
}  // namespace berth
