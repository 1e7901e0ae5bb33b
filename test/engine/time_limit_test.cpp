// Goal: a job has its time limit of time with a berth, from each start from nothing, and not a step
// more: a suspension goes on with what is left, a new start has all of it.
//
// Method: one job with a limit of 100 seconds, driven through its states at chosen instants.
#include <gtest/gtest.h>

#include "core/base/limits.hpp"
#include "engine/rig.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;

class TimeLimit : public testing::Test {
 protected:
  TimeLimit() : rig_(nodes_of(1, 8)) { spec_.time_limit = seconds(100); }

  void expect_finished(const Effects& effects, JobId id, Outcome outcome) {
    test::expect_finished(rig_, effects, id, outcome);
  }

  Rig rig_;
  JobSpec spec_ = shared(1, 4_GiB);
};

TEST_F(TimeLimit, StopsTheJobWhenItIsReached) {
  const JobId id = rig_.submit(spec_);
  EXPECT_EQ(rig_.at(10).start(id, {0}).wake_at, kStart + seconds(110));
  rig_.tell({Started{id, Attempt(1)}});
  EXPECT_TRUE(rig_.at(109).tell({Ticked{}}).list.empty());
  EXPECT_EQ(only<Stop>(rig_.at(110).tell({Ticked{}}))->why, StopFor::TimeLimit);
  rig_.exited(id, Outcome::Failed, 143);
  expect_finished(rig_.released(id), id, Outcome::Timeout);
}

TEST_F(TimeLimit, MayBeChangedWhileTheJobRuns) {
  const JobId id = rig_.run(spec_, {0});
  spec_.time_limit = seconds(150);
  EXPECT_EQ(rig_.at(90).tell({Updated{id, spec_}}).wake_at, kStart + seconds(150));
  EXPECT_TRUE(rig_.at(100).tell({}).list.empty());
  spec_.time_limit = kForever;
  EXPECT_EQ(rig_.at(110).tell({Updated{id, spec_}}).wake_at, std::nullopt);
  spec_.time_limit = seconds(120);
  rig_.tell({Updated{id, spec_}});
  EXPECT_EQ(only<Stop>(rig_.at(120).tell({}))->why, StopFor::TimeLimit);
}

TEST(TimeLimitElsewhere, EndsNoJobHere) {
  Rig rig(nodes_of(1, 8), {.ends_at_limit = false});
  JobSpec spec = shared(1, 4_GiB);
  spec.time_limit = seconds(100);
  const JobId id = rig.run(spec, {0});
  const Effects& late = rig.at(101).tell({});
  EXPECT_TRUE(late.list.empty());
  EXPECT_EQ(late.wake_at, std::nullopt);
  rig.exited(id, Outcome::Done, 0);
  test::expect_finished(rig, rig.released(id), id, Outcome::Done);
}

TEST_F(TimeLimit, CountsFromTheGrant) {
  const JobId id = rig_.submit(spec_);
  rig_.start(id, {0});
  EXPECT_EQ(only<Stop>(rig_.at(100).tell({Ticked{}}))->why, StopFor::TimeLimit);
  EXPECT_EQ(rig_.state(id), JobState::Stopping);
}

TEST_F(TimeLimit, DoesNotCountTimeWithoutGpus) {
  const JobId id = rig_.run(spec_, {0});
  rig_.at(40).preempt(id, PreemptHow::Suspend);
  rig_.at(50).released(id);
  EXPECT_EQ(rig_.at(500).resume(id, {0}).wake_at, kStart + seconds(550));
  EXPECT_TRUE(rig_.at(549).tell({Started{id, Attempt(2)}}).list.empty());
  EXPECT_EQ(only<Stop>(rig_.at(550).tell({}))->why, StopFor::TimeLimit);
}

TEST_F(TimeLimit, BeginsAgainWithAStartFromNothing) {
  const JobId id = rig_.run(spec_, {0});
  rig_.at(60).preempt(id, PreemptHow::Requeue);
  rig_.released(id);
  EXPECT_EQ(rig_.engine().view().job(id).enforced(), seconds(100));
  EXPECT_EQ(rig_.at(70).start(id, {0}).wake_at, kStart + seconds(170));
  rig_.tell({Started{id, Attempt(2)}});
  EXPECT_TRUE(rig_.at(169).tell({}).list.empty());
  EXPECT_EQ(rig_.job(id).ran_before, seconds(60));
  EXPECT_EQ(rig_.engine().view().job(id).ran(), seconds(159));
  EXPECT_EQ(only<Stop>(rig_.at(170).tell({}))->why, StopFor::TimeLimit);
}

TEST_F(TimeLimit, BeginsAgainWithEachCauseOfANewStart) {
  spec_.retries = 1;
  spec_.conditions = Conditions{.requeue_on = {75}, .requeues = 2};
  const JobId id = rig_.run(spec_, {0});
  rig_.at(90).exited(id, Outcome::Failed, 75);
  rig_.released(id);
  EXPECT_EQ(rig_.at(100).start(id, {0}).wake_at, kStart + seconds(200));
  rig_.tell({Started{id, Attempt(2)}});
  rig_.at(190).exited(id, Outcome::Oom, 1);
  rig_.released(id);
  EXPECT_EQ(rig_.at(1000).start(id, {0}).wake_at, kStart + seconds(1100));
}

TEST_F(TimeLimit, GoesOnOverSuspensionsOfALaterStart) {
  const JobId id = rig_.run(spec_, {0});
  rig_.at(60).preempt(id, PreemptHow::Requeue);
  rig_.released(id);
  rig_.at(70).start(id, {0});
  rig_.tell({Started{id, Attempt(2)}});
  rig_.at(110).preempt(id, PreemptHow::Suspend);
  rig_.at(115).released(id);
  EXPECT_EQ(rig_.at(500).resume(id, {0}).wake_at, kStart + seconds(555));
}

TEST_F(TimeLimit, EndsAJobThatReachesItWhileItIsSuspended) {
  const JobId id = rig_.run(spec_, {0});
  rig_.at(90).preempt(id, PreemptHow::Suspend);
  const Effects& effects = rig_.at(100).released(id);
  EXPECT_EQ(only<Stop>(effects)->how, PreemptHow::Kill);
  expect_finished(effects, id, Outcome::Timeout);
}

TEST_F(TimeLimit, DoesNotEndAJobThatReachesItWhileItIsRequeued) {
  const JobId id = rig_.run(spec_, {0});
  rig_.at(90).preempt(id, PreemptHow::Requeue);
  rig_.at(120).released(id);
  EXPECT_EQ(rig_.state(id), JobState::Queued);
  EXPECT_EQ(rig_.at(130).start(id, {0}).wake_at, kStart + seconds(230));
}

TEST_F(TimeLimit, IsNotUsedUpByAStartThatFails) {
  const JobId id = rig_.run(spec_, {0});
  rig_.at(60).preempt(id, PreemptHow::Requeue);
  rig_.released(id);
  rig_.at(70).start(id, {0});
  rig_.at(110).tell({StartFailed{id, Attempt(2)}});
  EXPECT_EQ(rig_.state(id), JobState::Queued);
  EXPECT_EQ(rig_.job(id).ran, seconds(60));
}

TEST_F(TimeLimit, YieldsToAnExitAtTheSameInstant) {
  const JobId id = rig_.run(spec_, {0});
  EXPECT_TRUE(rig_.at(100).exited(id).list.empty());
  expect_finished(rig_.released(id), id, Outcome::Done);
}

TEST_F(TimeLimit, BelowZeroIsZero) {
  spec_.time_limit = Duration::min();
  spec_.estimate = seconds(-1);
  const JobId id = rig_.submit(spec_);
  EXPECT_EQ(rig_.job(id).spec.time_limit, Duration::zero());
  EXPECT_EQ(rig_.job(id).spec.estimate, Duration::zero());
  rig_.start(id, {0});
  EXPECT_EQ(only<Stop>(rig_.tell({Started{id, Attempt(1)}}))->why, StopFor::TimeLimit);
}

TEST_F(TimeLimit, LongerThanASnapshotHoldsIsTenYears) {
  const Duration almost_for_ever = kForever - seconds(1);
  spec_.time_limit = almost_for_ever;
  spec_.estimate = almost_for_ever;
  const JobId id = rig_.submit(spec_);
  EXPECT_EQ(rig_.job(id).spec.time_limit, limits::kLongestTime);
  EXPECT_EQ(rig_.job(id).spec.estimate, limits::kLongestTime);
  rig_.tell({Estimated{.job = id, .estimate = almost_for_ever}});
  EXPECT_EQ(rig_.job(id).spec.estimate, limits::kLongestTime);
  spec_.estimate = kForever;
  EXPECT_EQ(rig_.job(rig_.submit(spec_)).spec.estimate, kForever) << "which is: unknown";
}

TEST_F(TimeLimit, IsForgottenWithTheJob) {
  const JobId id = rig_.run(spec_, {0});
  rig_.exited(id);
  EXPECT_EQ(rig_.released(id).wake_at, std::nullopt);
  EXPECT_TRUE(rig_.at(200).tell({Ticked{}}).list.empty());
}

TEST_F(TimeLimit, CountsOnlyTimeWithABerth) {
  const JobId id = rig_.submit(shared(2, 4_GiB));
  rig_.at(10).start(id, {0, 1});
  rig_.at(15).tell({Started{id, Attempt(1)}});
  rig_.at(30).preempt(id, PreemptHow::Suspend);
  rig_.at(35).released(id);
  rig_.at(100).resume(id, {0, 1});
  rig_.at(101).tell({Started{id, Attempt(2)}});
  const JobView view = rig_.engine().view().job(id);
  EXPECT_EQ(view.ran(), seconds(25 + 1));
  EXPECT_EQ(view.waited(), seconds(10 + 65));
  EXPECT_EQ(view.attained(), 2_gpus * seconds(26));
  EXPECT_EQ(rig_.job(id).first_start, kStart + seconds(10));
}

}  // namespace
}  // namespace berth::test
