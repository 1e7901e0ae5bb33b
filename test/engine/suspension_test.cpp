// Goal: what a user and a shell say about suspensions does to a job exactly what it should: it
// waits for its owner, runs on, or waits suspended as before, and nothing is lost or counted twice.
// Method: an engine whose policy says what the test tells it to.
#include <gtest/gtest.h>

#include "engine/rig.hpp"
#include "policy/registry.hpp"

namespace berth {
namespace {

using test::nodes_of;
using test::only;
using test::Rig;
using test::shared;

constexpr Bytes kVram{std::int64_t{4} << 30};

class Suspension : public testing::Test {
 protected:
  JobId suspended_by_owner() {
    const JobId id = rig_.run(shared(1, kVram), {0});
    rig_.tell({SuspendAsked{id}});
    rig_.released(id);
    return id;
  }

  Rig rig_{nodes_of(1, 4)};
};

TEST_F(Suspension, ByItsOwnerWaitsForTheOwner) {
  const JobId id = rig_.run(shared(1, kVram), {0});
  const auto* const stop = only<Stop>(rig_.tell({SuspendAsked{id}}));
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->how, PreemptHow::Suspend);
  EXPECT_EQ(stop->why, StopFor::Suspension);
  rig_.released(id);
  EXPECT_EQ(rig_.state(id), JobState::Held);
  EXPECT_TRUE(has_idle_process(rig_.job(id)));
  EXPECT_EQ(rig_.gpu(0).charged, Bytes(0));
  EXPECT_EQ(rig_.job(id).preemptions, 0);
  EXPECT_TRUE(rig_.resume(id, {1}).list.empty()) << "it is not the policy's to start";
  rig_.tell({ReleaseAsked{id}});
  EXPECT_EQ(rig_.state(id), JobState::Suspended);
  ASSERT_NE(only<Continue>(rig_.resume(id, {1})), nullptr);
}

TEST_F(Suspension, ByItsOwnerNeedsNoSettingOfTheScheduler) {
  Rig rig(nodes_of(1, 1), {.can_suspend = false});
  const JobId id = rig.run(shared(1, kVram), {0});
  EXPECT_EQ(only<Stop>(rig.tell({SuspendAsked{id}}))->how, PreemptHow::Suspend);
}

TEST_F(Suspension, OnlyARunningJobIsSuspended) {
  const JobId queued = rig_.submit(shared(1, kVram));
  EXPECT_TRUE(rig_.tell({SuspendAsked{queued}}).list.empty());
  EXPECT_EQ(rig_.state(queued), JobState::Queued);
  rig_.tell({HoldAsked{queued}});
  EXPECT_FALSE(has_idle_process(rig_.job(queued)));
  rig_.tell({ReleaseAsked{queued}});
  EXPECT_EQ(rig_.state(queued), JobState::Queued);
  EXPECT_TRUE(rig_.tell({SuspendAsked{JobId(99)}}).list.empty());
}

TEST_F(Suspension, AnOwnerKeepsAJobThatTheSchedulerSuspends) {
  const JobId before = rig_.run(shared(1, kVram), {0});
  rig_.preempt(before, PreemptHow::Suspend);
  rig_.tell({SuspendAsked{before}});
  rig_.released(before);
  EXPECT_EQ(rig_.state(before), JobState::Held);
  const JobId after = rig_.run(shared(1, kVram), {1});
  rig_.preempt(after, PreemptHow::Suspend);
  rig_.released(after);
  rig_.tell({SuspendAsked{after}});
  EXPECT_EQ(rig_.state(after), JobState::Held);
  for (const JobId id : {before, after}) EXPECT_TRUE(has_idle_process(rig_.job(id)));
}

TEST_F(Suspension, AnOwnerWhoChangesTheirMindMeanwhileIsHeard) {
  const JobId id = rig_.run(shared(1, kVram), {0});
  rig_.tell({SuspendAsked{id}});
  rig_.tell({ReleaseAsked{id}});
  rig_.released(id);
  EXPECT_EQ(rig_.state(id), JobState::Suspended);
}

TEST_F(Suspension, ACancelledOneTakesItsProcessAlong) {
  const JobId id = suspended_by_owner();
  const Effects& effects = rig_.tell({CancelAsked{id}});
  const auto* const stop = only<Stop>(effects);
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->how, PreemptHow::Kill);
  test::expect_finished(rig_, effects, id, Outcome::Cancelled);
}

TEST_F(Suspension, OneThatDiesIsOverAtOnce) {
  const JobId id = suspended_by_owner();
  const Effects& effects = rig_.exited(id, Outcome::Failed, 137);
  EXPECT_EQ(effects.list.size(), 1U) << "no process is left to end";
  test::expect_finished(rig_, effects, id, Outcome::Failed);
}

TEST_F(Suspension, ThatFailsLeavesTheJobRunningAndAloneForATime) {
  const JobId id = rig_.run(shared(1, kVram), {0});
  rig_.at(10).preempt(id, PreemptHow::Suspend);
  rig_.tell({SuspendFailed{id, Attempt(1), kStart + seconds(100)}});
  EXPECT_EQ(rig_.state(id), JobState::Running);
  EXPECT_EQ(rig_.gpu(0).charged, kVram);
  rig_.at(20).tell({});
  const ClusterView view = rig_.engine().view();
  EXPECT_TRUE(view.is_left_alone(view.job(id)));
  EXPECT_EQ(view.left_alone_until(view.job(id)), kStart + seconds(100));
  rig_.at(100).tell({});
  EXPECT_FALSE(rig_.engine().view().is_left_alone(rig_.engine().view().job(id)));
  EXPECT_EQ(rig_.job(id).ran, Duration::zero());
  EXPECT_EQ(rig_.engine().view().job(id).ran(), seconds(100)) << "it ran all the while";
}

TEST_F(Suspension, ThatFailsLateOrTwiceChangesNothing) {
  const JobId id = rig_.run(shared(1, kVram), {0});
  rig_.tell({SuspendFailed{id, Attempt(1), kNever}});
  EXPECT_EQ(rig_.state(id), JobState::Running);
  EXPECT_EQ(rig_.job(id).stays_until, Instant());
  rig_.preempt(id, PreemptHow::Suspend);
  rig_.released(id);
  rig_.tell({SuspendFailed{id, Attempt(1), kNever}});
  EXPECT_EQ(rig_.state(id), JobState::Suspended);
  rig_.resume(id, {0});
  rig_.preempt(id, PreemptHow::Suspend);
  rig_.tell({SuspendFailed{id, Attempt(1), kNever}});
  EXPECT_EQ(rig_.state(id), JobState::Stopping) << "that was the attempt before";
}

TEST_F(Suspension, ThatFailsDoesNotSaveACancelledJob) {
  const JobId id = rig_.run(shared(1, kVram), {0});
  rig_.preempt(id, PreemptHow::Suspend);
  rig_.tell({CancelAsked{id}});
  rig_.tell({SuspendFailed{id, Attempt(1), kNever}});
  EXPECT_EQ(rig_.state(id), JobState::Stopping);
}

TEST_F(Suspension, ThatFailsAfterTheTimeLimitEndsTheJob) {
  JobSpec spec = shared(1, kVram);
  spec.time_limit = seconds(60);
  const JobId id = rig_.run(spec, {0});
  rig_.at(50).preempt(id, PreemptHow::Suspend);
  rig_.at(70).tell({});
  EXPECT_EQ(rig_.state(id), JobState::Stopping);
  const auto* const stop = only<Stop>(rig_.at(71).tell({SuspendFailed{id, Attempt(1), kNever}}));
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->why, StopFor::TimeLimit);
}

TEST_F(Suspension, AResumptionThatFailsLeavesItSuspended) {
  const JobId id = rig_.run(shared(1, kVram), {0});
  rig_.preempt(id, PreemptHow::Suspend);
  rig_.released(id);
  rig_.resume(id, {1});
  rig_.tell({ResumeFailed{id, Attempt(1)}});
  EXPECT_EQ(rig_.state(id), JobState::Starting) << "that was the attempt before";
  rig_.tell({ResumeFailed{id, Attempt(2)}});
  EXPECT_EQ(rig_.state(id), JobState::Suspended);
  EXPECT_EQ(rig_.gpu(1).charged, Bytes(0));
  EXPECT_EQ(rig_.account().jobs, 0);
  EXPECT_EQ(only<Continue>(rig_.resume(id, {2}))->attempt, Attempt(3));
}

TEST_F(Suspension, AResumptionThatFailsTooOftenIsTheEndOfItsProcess) {
  const JobId id = rig_.run(shared(1, kVram), {0});
  rig_.preempt(id, PreemptHow::Suspend);
  rig_.released(id);
  const std::int32_t most = rig_.engine().view().settings().max_failed_starts;
  for (std::int32_t tries = 1; tries < most; ++tries) {
    rig_.resume(id, {1});
    rig_.tell({ResumeFailed{id, rig_.attempt(id)}});
  }
  rig_.resume(id, {1});
  const Effects& effects = rig_.tell({ResumeFailed{id, rig_.attempt(id)}});
  EXPECT_EQ(only<Stop>(effects)->how, PreemptHow::Kill);
  test::expect_finished(rig_, effects, id, Outcome::Failed);
}

TEST_F(Suspension, AResumptionThatWorksForgetsThoseThatFailed) {
  const JobId id = rig_.run(shared(1, kVram), {0});
  const std::int32_t most = rig_.engine().view().settings().max_failed_starts;
  for (std::int32_t times = 0; times < most; ++times) {
    rig_.preempt(id, PreemptHow::Suspend);
    rig_.released(id);
    rig_.resume(id, {1});
    rig_.tell({ResumeFailed{id, rig_.attempt(id)}});
    ASSERT_EQ(rig_.state(id), JobState::Suspended);
    EXPECT_EQ(rig_.job(id).failed_starts, 1);
    rig_.resume(id, {1});
    rig_.tell({Started{id, rig_.attempt(id)}});
    ASSERT_EQ(rig_.state(id), JobState::Running);
    EXPECT_EQ(rig_.job(id).failed_starts, 0);
  }
}

/// A young job takes the GPU of one that has proved long, unless that must not be suspended.
class SaidLater : public testing::Test {
 protected:
  const Effects& tell(std::int64_t at, std::vector<Input> inputs) {
    return engine_.step(kStart + seconds(at), inputs);
  }
  static JobSpec spec(Suspending suspending = Suspending::Unsaid) {
    JobSpec spec = shared(1, Bytes(std::int64_t{20} << 30));
    spec.suspending = suspending;
    return spec;
  }
  /// It runs since 0 s.
  void SetUp() override {
    tell(0, {Submitted{.job = JobId(1), .spec = spec()}});
    tell(0, {Started{JobId(1), engine_.view().find(JobId(1))->attempt}});
  }

  Engine engine_{nodes_of(1, 1), EngineOptions{.settings = {.can_suspend = true}},
                 *make_policy("turns:first_queue=10s:quantum=1s", "first-fit")};
};

TEST_F(SaidLater, WithoutAWordItGivesWay) {
  const Effects& effects = tell(20, {Submitted{.job = JobId(2), .spec = spec()}});
  ASSERT_NE(only<Stop>(effects), nullptr);
}

TEST_F(SaidLater, ARunningJobIsLeftAloneFromThenOn) {
  tell(15, {Updated{JobId(1), spec(Suspending::No)}});
  EXPECT_TRUE(tell(20, {Submitted{.job = JobId(2), .spec = spec()}}).list.empty());
  const Effects& effects = tell(30, {Updated{JobId(1), spec(Suspending::Yes)}});
  ASSERT_NE(only<Stop>(effects), nullptr) << "and no longer";
}

TEST_F(SaidLater, ASuspendedJobHasItsNewTimeLimitWhenItIsBack) {
  tell(20, {Submitted{.job = JobId(2), .spec = spec()}});
  tell(21, {Released{JobId(1), engine_.view().find(JobId(1))->attempt}});
  JobSpec longer = spec();
  longer.time_limit = seconds(500);
  tell(22, {Updated{JobId(1), longer}});
  const Attempt second = engine_.view().find(JobId(2))->attempt;
  tell(23, {Started{JobId(2), second}, Exited{.job = JobId(2), .attempt = second},
            Released{JobId(2), second}});
  const Job& job = *engine_.view().find(JobId(1));
  ASSERT_EQ(job.state, JobState::Starting);
  EXPECT_EQ(time_limit_at(job) - kStart, seconds(23) + seconds(500) - job.ran);
}

TEST_F(SaidLater, ASuspendedJobIsLeftAloneWhenItIsBack) {
  tell(20, {Submitted{.job = JobId(2), .spec = spec()}});
  tell(21, {Released{JobId(1), engine_.view().find(JobId(1))->attempt}});
  ASSERT_EQ(engine_.view().find(JobId(1))->state, JobState::Suspended);
  tell(22, {Updated{JobId(1), spec(Suspending::No)}});
  const Attempt second = engine_.view().find(JobId(2))->attempt;
  tell(23, {Started{JobId(2), second}, Exited{.job = JobId(2), .attempt = second},
            Released{JobId(2), second}});
  ASSERT_EQ(engine_.view().find(JobId(1))->state, JobState::Starting);
  EXPECT_TRUE(engine_.view().job(JobId(1)).stays());
  EXPECT_TRUE(tell(100, {Submitted{.job = JobId(3), .spec = spec()}}).list.empty());
}

TEST(PromisedPlace, IsGivenUpForOneThatIsFreeEarlier) {
  Engine engine{nodes_of(1, 2), EngineOptions{.settings = {.can_suspend = true}},
                *make_policy("turns:first_queue=10s:quantum=1s", "first-fit")};
  const auto tell = [&](std::int64_t at, std::vector<Input> inputs) -> const Effects& {
    return engine.step(kStart + seconds(at), inputs);
  };
  const auto attempt = [&](JobId id) { return engine.view().find(id)->attempt; };
  const JobSpec spec = shared(1, Bytes(std::int64_t{20} << 30));
  for (const JobId id : {JobId(1), JobId(2)}) {
    tell(0, {Submitted{.job = id, .spec = spec}});
    tell(0, {Started{id, attempt(id)}});
  }
  const auto* const stop = only<Stop>(tell(20, {Submitted{.job = JobId(3), .spec = spec}}));
  ASSERT_NE(stop, nullptr);
  const JobId leaving = stop->job;
  const JobId other = leaving == JobId(1) ? JobId(2) : JobId(1);
  tell(25, {Exited{.job = other, .attempt = attempt(other)}, Released{other, attempt(other)}});
  EXPECT_EQ(engine.view().find(leaving)->state, JobState::Stopping) << "that takes its time";
  EXPECT_EQ(engine.view().find(JobId(3))->state, JobState::Starting);
}

class SpoiledBySuspension : public testing::Test {
 protected:
  /// It runs since 100 s, after a suspension.
  JobId resumed() {
    const JobId id = rig_.at(0).run(shared(1, kVram), {0});
    rig_.tell({Identified{id, Fingerprint(7)}});
    rig_.at(50).preempt(id, PreemptHow::Suspend);
    rig_.released(id);
    rig_.at(100).resume(id, {0});
    rig_.tell({Started{id, rig_.job(id).attempt}});
    return id;
  }
  Suspending of_the_next(Suspending said = Suspending::Unsaid, Saving saving = {}) {
    JobSpec spec = shared(1, kVram);
    spec.suspending = said;
    if (saving.signal != 0) spec.conditions.edit().on_preempt = saving;
    const JobId id = rig_.submit(spec);
    rig_.tell({Identified{id, Fingerprint(7)}});
    return rig_.job(id).spec.suspending;
  }

  Rig rig_{nodes_of(1, 4)};
};

TEST_F(SpoiledBySuspension, AJobThatFailsSoonRunsAgainAndIsLeftAlone) {
  const JobId id = resumed();
  const auto* const spoiled = only<Spoiled>(rig_.at(112).exited(id, Outcome::Failed, 1));
  ASSERT_NE(spoiled, nullptr);
  EXPECT_EQ(spoiled->after, seconds(12));
  rig_.released(id);
  EXPECT_EQ(rig_.state(id), JobState::Queued);
  EXPECT_EQ(rig_.job(id).spec.suspending, Suspending::No);
  rig_.start(id, {0});
  const ClusterView view = rig_.engine().view();
  EXPECT_EQ(view.job(id).run(), seconds(0)) << "from nothing";
  EXPECT_TRUE(view.is_left_alone(view.job(id)));
  rig_.at(113).exited(id, Outcome::Failed, 1);
  test::expect_finished(rig_, rig_.released(id), id, Outcome::Failed);
}

TEST_F(SpoiledBySuspension, TheProgramIsNotSuspendedAgainUnlessItsUserSaysSo) {
  EXPECT_EQ(of_the_next(), Suspending::Unsaid);
  const JobId id = resumed();
  rig_.at(112).exited(id, Outcome::Failed, 1);
  EXPECT_EQ(of_the_next(), Suspending::No);
  EXPECT_EQ(of_the_next(Suspending::Yes), Suspending::Yes);
  EXPECT_EQ(of_the_next(Suspending::Unsaid, {.signal = SIGUSR1}), Suspending::Unsaid)
      << "it gives way by saving";
  const auto restored = Engine::restore(rig_.engine().save(), std::make_unique<test::Script>());
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_TRUE(restored->view().past_runs().is_hurt_by_suspension(UserId(7), Fingerprint(7)));
}

TEST_F(SpoiledBySuspension, OneThatFailsLateDoesNot) {
  const JobId id = resumed();
  EXPECT_TRUE(rig_.at(221).exited(id, Outcome::Failed, 1).list.empty());
  test::expect_finished(rig_, rig_.released(id), id, Outcome::Failed);
  EXPECT_EQ(of_the_next(), Suspending::Unsaid);
}

TEST_F(SpoiledBySuspension, OneThatEndsWellDoesNot) {
  const JobId id = resumed();
  EXPECT_TRUE(rig_.at(101).exited(id).list.empty());
  test::expect_finished(rig_, rig_.released(id), id, Outcome::Done);
}

TEST_F(SpoiledBySuspension, ACancelledOneStaysCancelled) {
  const JobId id = resumed();
  rig_.at(105).tell({CancelAsked{id}});
  rig_.exited(id, Outcome::Failed, 143);
  test::expect_finished(rig_, rig_.released(id), id, Outcome::Cancelled);
}

class SuspensionInPlace : public testing::Test {
 protected:
  bool goes_on(JobId id, std::initializer_list<std::uint32_t> gpus) {
    rig_.resume(id, gpus);
    return rig_.state(id) == JobState::Starting;
  }

  Rig rig_{nodes_of(2, 2), {.suspends_in_place = true}};
};

TEST_F(SuspensionInPlace, GoesOnOnItsNodesWithAsManyGpusOnEach) {
  const JobId one = rig_.run(shared(1, kVram), {0});
  const JobId gang = rig_.run(shared(3, kVram), {0, 1, 2});
  for (const JobId id : {one, gang}) {
    rig_.preempt(id, PreemptHow::Suspend);
    rig_.released(id);
  }
  EXPECT_FALSE(goes_on(one, {2})) << "another node";
  EXPECT_TRUE(goes_on(one, {1})) << "another GPU of its node";
  EXPECT_FALSE(goes_on(gang, {1, 2, 3})) << "another part of it on each";
  EXPECT_TRUE(goes_on(gang, {0, 1, 3}));
}

TEST_F(SuspensionInPlace, IsForgottenWithItsProcesses) {
  const JobId id = rig_.run(shared(1, kVram), {0});
  EXPECT_EQ(*rig_.job(id).home, std::vector{NodeId(0)});
  rig_.preempt(id, PreemptHow::Requeue);
  rig_.released(id);
  EXPECT_TRUE(rig_.job(id).home.is_default());
  EXPECT_TRUE(goes_on(id, {2}));
}

/// Programs that it starts later look for the GPUs that it was given at its start.
TEST_F(Suspension, OfAJobBelowAShellIsForItsOwnGpus) {
  const JobId id = rig_.run(shared(1, kVram), {2});
  rig_.preempt(id, PreemptHow::Suspend);
  rig_.tell({Rooted{id, Attempt(1)}});
  rig_.released(id);
  EXPECT_TRUE(rig_.resume(id, {1}).list.empty());
  EXPECT_EQ(rig_.state(id), JobState::Suspended);
  const auto restored = Engine::restore(rig_.engine().save(), std::make_unique<test::Script>());
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->view().find(id)->rooted, set_of(GpuId(2)));
  ASSERT_NE(only<Continue>(rig_.resume(id, {2})), nullptr);
  EXPECT_EQ(rig_.job(id).rooted, GpuSet{0}) << "until it is suspended again";
}

TEST_F(Suspension, FromAGpuThatFailsIsForAnother) {
  const JobId id = rig_.run(shared(1, kVram), {2});
  rig_.preempt(id, PreemptHow::Suspend);
  rig_.tell({Rooted{id, Attempt(1)}});
  rig_.released(id);
  rig_.tell({GpuHealth{.gpu = GpuId(2), .healthy = false}});
  ASSERT_NE(only<Continue>(rig_.resume(id, {1})), nullptr);
  const JobId other = rig_.run(shared(1, kVram), {3});
  rig_.preempt(other, PreemptHow::Suspend);
  rig_.tell({GpuHealth{.gpu = GpuId(3), .healthy = false}});
  rig_.tell({Rooted{other, Attempt(1)}});
  EXPECT_EQ(rig_.job(other).rooted, GpuSet{0});
}

// ---- On GPUs of several types ----------------------------------------------------------------

class SuspensionOnTypes : public testing::Test {
 protected:
  /// GPUs 0 and 1 are of the one, 2 and 3 of the other.
  static Cluster two_types() {
    Cluster cluster;
    cluster.add_switch();
    for (const char* type : {"one", "other"}) {
      cluster.add_node({.name = type, .gpus = 2, .vram = kVram + kVram, .type = type});
    }
    return cluster;
  }
  static Settings on_types() {
    Settings settings;
    settings.suspends_on_type = true;
    return settings;
  }
  JobId suspended(JobSpec spec, std::initializer_list<std::uint32_t> gpus) {
    const JobId id = rig_.run(spec, gpus);
    rig_.decide({Preempt{.job = id}});
    rig_.released(id);
    return id;
  }

  Rig rig_{two_types(), on_types()};
};

TEST_F(SuspensionOnTypes, AJobGoesOnOnTheTypeThatItHad) {
  const JobId id = suspended(shared(1, kVram), {0});
  EXPECT_TRUE(rig_.resume(id, {2}).list.empty());
  EXPECT_EQ(rig_.state(id), JobState::Suspended);
  auto restored = Engine::restore(rig_.engine().save(), std::make_unique<test::Script>());
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->view().find(id)->bound, GpuTypes{1});
  ASSERT_NE(only<Continue>(rig_.resume(id, {1})), nullptr);
}

TEST_F(SuspensionOnTypes, IsNotMovedToAnother) {
  const JobId id = rig_.run(shared(1, kVram), {0});
  EXPECT_TRUE(
      rig_.decide({Migrate{.job = id, .placement = test::on(two_types(), {3})}}).list.empty());
  EXPECT_EQ(rig_.state(id), JobState::Running);
  EXPECT_FALSE(
      rig_.decide({Migrate{.job = id, .placement = test::on(two_types(), {1})}}).list.empty());
}

TEST_F(SuspensionOnTypes, AGangOnBothGoesOnWithItsOwn) {
  const JobId id = suspended(shared(2, kVram), {1, 2});
  EXPECT_TRUE(rig_.resume(id, {0, 1}).list.empty());
  EXPECT_TRUE(rig_.resume(id, {0, 3}).list.empty());
  ASSERT_NE(only<Continue>(rig_.resume(id, {1, 2})), nullptr);
}

TEST_F(SuspensionOnTypes, OneThatBeginsAgainDoesSoAnywhere) {
  const JobId id = rig_.run(shared(1, kVram), {0});
  rig_.preempt(id, PreemptHow::Requeue);
  rig_.released(id);
  EXPECT_EQ(rig_.job(id).bound, GpuTypes{0});
  ASSERT_NE(only<Launch>(rig_.start(id, {2})), nullptr);
}

TEST_F(Suspension, FromNothingIsForAny) {
  const JobId id = rig_.run(shared(1, kVram), {2});
  rig_.preempt(id, PreemptHow::Requeue);
  rig_.tell({Rooted{id, Attempt(1)}});
  rig_.released(id);
  EXPECT_EQ(rig_.job(id).rooted, GpuSet{0});
}

TEST_F(SuspensionInPlace, IsInASnapshot) {
  const JobId id = rig_.run(shared(3, kVram), {0, 2, 3});
  rig_.preempt(id, PreemptHow::Suspend);
  rig_.released(id);
  const auto restored = Engine::restore(rig_.engine().save(), std::make_unique<test::Script>());
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(*restored->view().find(id)->home, (std::vector{NodeId(0), NodeId(1), NodeId(1)}));
  EXPECT_TRUE(restored->view().settings().suspends_in_place);
}

TEST(SuspensionSnapshot, KeepsAJobOfItsOwnerAndOneThatStays) {
  Rig rig(nodes_of(1, 4));
  const JobId held = rig.run(shared(1, kVram), {0});
  rig.tell({SuspendAsked{held}});
  rig.released(held);
  const JobId stays = rig.run(shared(1, kVram), {1});
  rig.preempt(stays, PreemptHow::Suspend);
  rig.tell({SuspendFailed{stays, Attempt(1), kNever}});
  const JobId going = rig.run(shared(1, kVram), {2});
  rig.tell({SuspendAsked{going}});
  const auto restored = Engine::restore(rig.engine().save(), std::make_unique<test::Script>());
  ASSERT_TRUE(restored) << restored.error().message;
  for (const JobId id : {held, stays, going}) {
    EXPECT_EQ(*restored->view().find(id), rig.job(id));
  }
}

}  // namespace
}  // namespace berth
