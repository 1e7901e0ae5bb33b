// Goal: a job whose user wants that leaves a GPU that fails and runs again on another, whether the
// failure or its own end is noticed first; a job that saves its state gives way by ending, and runs
// again however it ended. Method: an engine with a scripted policy.
#include <gtest/gtest.h>

#include "engine/rig.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;

class GpuFailure : public testing::Test {
 protected:
  GpuFailure() : rig_(nodes_of(1, 2)) {}

  JobSpec outliving(std::int32_t requeues = 2) const {
    JobSpec spec = shared(1, 4_GiB);
    spec.conditions = Conditions{.requeues = requeues, .requeue_on_gpu_failure = true};
    return spec;
  }
  const Effects& lose(std::uint32_t gpu) {
    return rig_.tell({GpuHealth{GpuId(gpu), false}, GpuLost{GpuId(gpu)}});
  }

  Rig rig_;
};

TEST_F(GpuFailure, TheJobsThatAskForItLeave) {
  const JobId leaves = rig_.run(outliving(), {0});
  const JobId stays = rig_.run(shared(1, 4_GiB), {0});
  const JobId elsewhere = rig_.run(outliving(), {1});
  const Stop* const stop = only<Stop>(lose(0));
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->job, leaves);
  EXPECT_EQ(stop->how, PreemptHow::Requeue);
  EXPECT_EQ(stop->why, StopFor::GpuFailure);
  EXPECT_EQ(rig_.state(stays), JobState::Running);
  EXPECT_EQ(rig_.state(elsewhere), JobState::Running);
  rig_.exited(leaves, Outcome::Failed, 143);
  EXPECT_EQ(rig_.state(leaves), JobState::Stopping) << "its charge stays until it is released";
  rig_.released(leaves);
  EXPECT_EQ(rig_.state(leaves), JobState::Queued);
  rig_.start(leaves, {0});
  EXPECT_EQ(rig_.state(leaves), JobState::Queued) << "that GPU takes no jobs";
  rig_.start(leaves, {1});
  EXPECT_EQ(rig_.state(leaves), JobState::Starting);
}

/// Programs notice before the driver's event does, and before a look.
TEST_F(GpuFailure, OneThatFailedBeforeTheLossWasKnownRunsAgain) {
  const JobId id = rig_.run(outliving(), {0});
  rig_.exited(id, Outcome::Failed, 1);
  EXPECT_EQ(rig_.state(id), JobState::Stopping);
  lose(0);
  rig_.released(id);
  EXPECT_EQ(rig_.state(id), JobState::Queued);
  EXPECT_EQ(rig_.job(id).spec.conditions->requeues, 1);
}

TEST_F(GpuFailure, OneThatFailedByItselfHasFailed) {
  const JobId id = rig_.run(outliving(), {0});
  rig_.exited(id, Outcome::Failed, 3);
  rig_.released(id);
  const Finished* const finished = only<Finished>(rig_.engine().effects());
  ASSERT_NE(finished, nullptr);
  EXPECT_EQ(finished->outcome, Outcome::Failed);
  EXPECT_EQ(finished->code, 3);
}

TEST_F(GpuFailure, OneThatIsCancelledMeanwhileIsCancelled) {
  const JobId id = rig_.run(outliving(), {0});
  rig_.exited(id, Outcome::Failed, 3);
  rig_.tell({CancelAsked{id}});
  lose(0);
  rig_.released(id);
  EXPECT_EQ(only<Finished>(rig_.engine().effects())->outcome, Outcome::Cancelled);
}

TEST_F(GpuFailure, ItHappensNoMoreOftenThanAsked) {
  const JobId id = rig_.run(outliving(1), {0});
  lose(0);
  rig_.exited(id, Outcome::Failed, 143);
  rig_.released(id);
  rig_.start(id, {1});
  rig_.tell({Started{id, rig_.attempt(id)}});
  EXPECT_TRUE(lose(1).list.empty());
  EXPECT_EQ(rig_.state(id), JobState::Running);
}

/// Its suspension was under way, and cannot succeed.
TEST_F(GpuFailure, OneThatCouldNotBeSuspendedLeavesThen) {
  const JobId id = rig_.run(outliving(), {0});
  rig_.preempt(id, PreemptHow::Suspend);
  EXPECT_TRUE(lose(0).list.empty()) << "it is stopping already";
  const Stop* const stop =
      only<Stop>(rig_.tell({SuspendFailed{.job = id, .attempt = rig_.attempt(id)}}));
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->why, StopFor::GpuFailure);
}

class SavesItself : public GpuFailure {
 protected:
  static JobSpec saving() {
    JobSpec spec = shared(1, 4_GiB);
    spec.conditions = Conditions{.on_preempt = {.signal = 10, .grace = seconds(60)}};
    return spec;
  }
};

TEST_F(SavesItself, ItEndsAndIsQueuedWhereOthersAreSuspended) {
  const JobId saves = rig_.run(saving(), {0});
  const JobId other = rig_.run(shared(1, 4_GiB), {0});
  EXPECT_EQ(only<Stop>(rig_.preempt(saves, PreemptHow::Suspend))->how, PreemptHow::Requeue);
  EXPECT_EQ(only<Stop>(rig_.preempt(other, PreemptHow::Suspend))->how, PreemptHow::Suspend);
  rig_.exited(saves, Outcome::Done, 0);
  EXPECT_EQ(rig_.state(saves), JobState::Stopping);
  rig_.released(saves);
  EXPECT_EQ(rig_.state(saves), JobState::Queued) << "it has saved its state, and is not done";
  EXPECT_EQ(rig_.job(saves).preemptions, 1);
}

TEST_F(SavesItself, ItsOwnerMaySuspendItAsAnyJob) {
  const JobId id = rig_.run(saving(), {0});
  EXPECT_EQ(only<Stop>(rig_.tell({SuspendAsked{id}}))->how, PreemptHow::Suspend);
}

/// What preemption may cost a job that begins again from nothing does not bound it.
TEST_F(SavesItself, ItGivesWayWhereOthersAreLeftAlone) {
  Settings settings = rig_.engine().view().settings();
  settings.can_suspend = false;
  const JobId saves = rig_.run(saving(), {0});
  const JobId other = rig_.run(shared(1, 4_GiB), {0});
  rig_.tell({Configured{settings}, Bounded{kNeverPreempted}});
  const ClusterView view = rig_.engine().view();
  EXPECT_FALSE(view.is_left_alone(view.job(saves)));
  EXPECT_TRUE(view.is_left_alone(view.job(other)));
}

TEST_F(SavesItself, ItsDelayCountsFromItsFirstStart) {
  const JobId id = rig_.at(100).submit(saving());
  rig_.at(150).start(id, {0});
  rig_.tell({Started{id, rig_.attempt(id)}});
  rig_.at(200).preempt(id, PreemptHow::Requeue);
  rig_.exited(id, Outcome::Done, 0);
  rig_.released(id);
  const auto delayed = [&] { return rig_.engine().view().job(id).delayed(); };
  rig_.at(230).tell({});
  EXPECT_EQ(delayed(), seconds(30));
  rig_.start(id, {0});
  rig_.at(300).tell({});
  EXPECT_EQ(delayed(), seconds(30));
}

}  // namespace
}  // namespace berth::test
