// Goal: every input does to a job what its state allows, and nothing else.
//
// Method: a policy that says what the test tells it to drives one job through its states; each test
// is one path. Time is in time_limit_test.cpp, memory and admission in memory_test.cpp, invalid
// decisions in refusal_test.cpp.
#include <gtest/gtest.h>

#include "engine/rig.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;

class Lifecycle : public testing::Test {
 protected:
  Lifecycle() : rig_(nodes_of(1, 8)) {}

  void expect_finished(const Effects& effects, JobId id, Outcome outcome) {
    test::expect_finished(rig_, effects, id, outcome);
  }

  Rig rig_;
};

// ---- Submission ------------------------------------------------------------------------------

TEST_F(Lifecycle, ASubmittedJobWaits) {
  rig_.at(5);
  const JobId id = rig_.submit(shared(1, 4_GiB));
  EXPECT_EQ(rig_.state(id), JobState::Queued);
  EXPECT_EQ(rig_.job(id).submitted, kStart + seconds(5));
  EXPECT_EQ(rig_.attempt(id), Attempt(0));
  EXPECT_EQ(rig_.job(id).grant, Grant{});
}

TEST_F(Lifecycle, ANumberIsUsedOnce) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  EXPECT_TRUE(rig_.tell({Submitted{.job = id, .spec = shared(2, 8_GiB)}}).list.empty());
  EXPECT_EQ(rig_.job(id).spec, shared(1, 4_GiB));
}

TEST_F(Lifecycle, NumberZeroNamesNoJob) {
  EXPECT_TRUE(rig_.tell({Submitted{.job = JobId(0), .spec = shared(1, 4_GiB)}}).list.empty());
  EXPECT_EQ(rig_.engine().view().job_count(), 0U);
}

TEST_F(Lifecycle, NoJobHasANumberBeyondTheLast) {
  const JobId beyond(kLastJob.value() + 1);
  rig_.tell({Submitted{.job = kLastJob, .spec = shared(1, 4_GiB)},
             Submitted{.job = beyond, .spec = shared(1, 4_GiB)}});
  EXPECT_TRUE(rig_.knows(kLastJob));
  EXPECT_FALSE(rig_.knows(beyond));
}

TEST_F(Lifecycle, InputsForUnknownJobsChangeNothing) {
  const JobId id(9);
  const std::string before = rig_.engine().save();
  const Effects& effects =
      rig_.tell({CancelAsked{id}, HoldAsked{id}, ReleaseAsked{id}, Started{id, Attempt(1)},
                 StartFailed{id, Attempt(1)}, Exited{id, Attempt(1)}, Released{id, Attempt(1)},
                 Reported{id, "done", 1}, Ticked{},
                 Measured{GpuId(0), Bytes(0), Bytes(0), {{id, 1_GiB}}}, GpuHealth{GpuId(99), false},
                 NodeHealth{NodeId(99), false}, Measured{GpuId(99), 1_GiB, 1_GiB, {}}});
  EXPECT_TRUE(effects.list.empty());
  Rig other(nodes_of(1, 8));
  other.tell({});
  EXPECT_EQ(rig_.engine().save(), other.engine().save());
  EXPECT_NE(rig_.engine().save(), before);  // one pass more
}

TEST_F(Lifecycle, AHeldJobStartsAfterItsRelease) {
  const JobId id(1);
  rig_.tell({Submitted{.job = id, .spec = shared(1, 4_GiB), .held = true}});
  EXPECT_EQ(rig_.state(id), JobState::Held);
  EXPECT_TRUE(rig_.start(id, {0}).list.empty());
  rig_.tell({ReleaseAsked{id}});
  EXPECT_EQ(rig_.state(id), JobState::Queued);
  EXPECT_NE(only<Launch>(rig_.start(id, {0})), nullptr);
}

TEST_F(Lifecycle, AQueuedJobCanBeHeld) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  rig_.tell({HoldAsked{id}});
  EXPECT_EQ(rig_.state(id), JobState::Held);
  EXPECT_TRUE(rig_.start(id, {0}).list.empty());
}

TEST_F(Lifecycle, AHeldJobKeepsItsAge) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  rig_.at(10).tell({HoldAsked{id}});
  rig_.at(30).tell({ReleaseAsked{id}});
  EXPECT_EQ(rig_.job(id).submitted, kStart);
  EXPECT_EQ(rig_.engine().view().job(id).waited(), seconds(30));
}

TEST_F(Lifecycle, ARunningJobCannotBeHeld) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  EXPECT_TRUE(rig_.tell({HoldAsked{id}}).list.empty());
  EXPECT_EQ(rig_.state(id), JobState::Running);
}

TEST_F(Lifecycle, AHoldTakesThePlaceKeptForTheJob) {
  const JobId id = rig_.submit(whole(1));
  const Hold hold{.job = id, .ask = {}, .placement = on(rig_.cluster(), {3})};
  rig_.decide({Reserve{.holds = {hold}}});
  ASSERT_EQ(rig_.engine().view().holds().size(), 1U);
  rig_.tell({HoldAsked{id}});
  EXPECT_TRUE(rig_.engine().view().holds().empty());
}

// ---- Cancel, in every state ------------------------------------------------------------------

TEST_F(Lifecycle, CancelEndsAQueuedJobAtOnce) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  const Effects& effects = rig_.tell({CancelAsked{id}});
  EXPECT_EQ(effects.list.size(), 1U);  // no process to stop
  expect_finished(effects, id, Outcome::Cancelled);
}

TEST_F(Lifecycle, CancelEndsAHeldJobAtOnce) {
  rig_.tell({Submitted{.job = JobId(1), .spec = shared(1, 4_GiB), .held = true}});
  const Effects& effects = rig_.tell({CancelAsked{JobId(1)}});
  EXPECT_EQ(effects.list.size(), 1U);
  expect_finished(effects, JobId(1), Outcome::Cancelled);
}

TEST_F(Lifecycle, CancelKillsAStartingJobAndKeepsItsChargeUntilReleased) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  rig_.start(id, {0});
  const auto* const stop = only<Stop>(rig_.tell({CancelAsked{id}}));
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->attempt, Attempt(1));
  EXPECT_EQ(stop->how, PreemptHow::Kill);
  EXPECT_EQ(stop->why, StopFor::Cancel);
  EXPECT_EQ(rig_.state(id), JobState::Stopping);
  EXPECT_EQ(rig_.gpu(0).charged, 4_GiB);
  expect_finished(rig_.released(id), id, Outcome::Cancelled);
  EXPECT_EQ(rig_.gpu(0).charged, Bytes(0));
}

TEST_F(Lifecycle, CancelKillsARunningJobWhateverItsExitSays) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  EXPECT_EQ(only<Stop>(rig_.tell({CancelAsked{id}}))->how, PreemptHow::Kill);
  rig_.exited(id, Outcome::Failed, 137);
  const Effects& effects = rig_.released(id);
  EXPECT_EQ(only<Finished>(effects)->code, 137);
  expect_finished(effects, id, Outcome::Cancelled);
}

TEST_F(Lifecycle, CancelKillsAJobThatWasBeingSuspended) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  rig_.preempt(id, PreemptHow::Suspend);
  EXPECT_EQ(only<Stop>(rig_.tell({CancelAsked{id}}))->how, PreemptHow::Kill);
  expect_finished(rig_.released(id), id, Outcome::Cancelled);
}

TEST_F(Lifecycle, CancelKillsTheProcessOfASuspendedJob) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  rig_.preempt(id, PreemptHow::Suspend);
  rig_.released(id);
  const Effects& effects = rig_.tell({CancelAsked{id}});
  EXPECT_EQ(only<Stop>(effects)->how, PreemptHow::Kill);
  expect_finished(effects, id, Outcome::Cancelled);
}

TEST_F(Lifecycle, CancelTwiceStopsOnce) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  rig_.tell({CancelAsked{id}});
  EXPECT_TRUE(rig_.tell({CancelAsked{id}}).list.empty());
}

TEST_F(Lifecycle, CancelAfterTheExitIsTooLate) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  rig_.exited(id);
  EXPECT_TRUE(rig_.tell({CancelAsked{id}}).list.empty());
  expect_finished(rig_.released(id), id, Outcome::Done);
}

// ---- Starting --------------------------------------------------------------------------------

TEST_F(Lifecycle, AStartChargesBeforeItLaunches) {
  const JobId id = rig_.submit(shared(2, 4_GiB));
  const auto* const launch = only<Launch>(rig_.start(id, {2, 5}));
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->attempt, Attempt(1));
  EXPECT_EQ(placement_of(launch->grant), on(rig_.cluster(), {2, 5}));
  EXPECT_EQ(rig_.state(id), JobState::Starting);
  EXPECT_EQ(rig_.gpu(5).charged, 4_GiB);
  EXPECT_EQ(rig_.account().gpus, 2_gpus);
  rig_.tell({Started{id, Attempt(1)}});
  EXPECT_EQ(rig_.state(id), JobState::Running);
}

TEST_F(Lifecycle, AFailedStartIsTriedAgainAsTheNextAttempt) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  rig_.start(id, {0});
  EXPECT_TRUE(rig_.tell({StartFailed{id, Attempt(1)}}).list.empty());
  EXPECT_EQ(rig_.state(id), JobState::Queued);
  EXPECT_EQ(rig_.gpu(0).charged, Bytes(0));
  EXPECT_EQ(only<Launch>(rig_.start(id, {1}))->attempt, Attempt(2));
}

TEST_F(Lifecycle, TheThirdFailedStartIsTheLast) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  for (std::uint32_t n = 1; n <= 2; ++n) {
    rig_.start(id, {0});
    EXPECT_TRUE(rig_.tell({StartFailed{id, Attempt(n)}}).list.empty());
  }
  rig_.start(id, {0});
  expect_finished(rig_.tell({StartFailed{id, Attempt(3)}}), id, Outcome::Failed);
  EXPECT_EQ(rig_.gpu(0).charged, Bytes(0));
}

/// Only failures in a row say that it will never run.
TEST_F(Lifecycle, FailedStartsAreForgottenOnceItRuns) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  for (int round = 0; round < 3; ++round) {
    rig_.start(id, {0});
    rig_.tell({StartFailed{id, rig_.attempt(id)}});
    EXPECT_EQ(rig_.job(id).failed_starts, 1);
    rig_.start(id, {0});
    rig_.tell({Started{id, rig_.attempt(id)}});
    EXPECT_EQ(rig_.job(id).failed_starts, 0);
    rig_.preempt(id, PreemptHow::Requeue);
    rig_.exited(id, Outcome::Failed, 143);
    rig_.released(id);
    ASSERT_EQ(rig_.state(id), JobState::Queued);
  }
}

TEST_F(Lifecycle, ReportsOfAnEarlierAttemptAreIgnored) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  rig_.start(id, {0});
  rig_.tell({StartFailed{id, Attempt(1)}});
  rig_.start(id, {0});
  rig_.tell({Started{id, Attempt(1)}, StartFailed{id, Attempt(1)}, Exited{id, Attempt(1)},
             Released{id, Attempt(1)}});
  EXPECT_EQ(rig_.state(id), JobState::Starting);
  EXPECT_EQ(rig_.job(id).failed_starts, 1);
}

TEST_F(Lifecycle, AFailedStartReportedTwiceCountsOnce) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  rig_.start(id, {0});
  rig_.tell({StartFailed{id, Attempt(1)}, StartFailed{id, Attempt(1)}});
  EXPECT_EQ(rig_.job(id).failed_starts, 1);
}

TEST_F(Lifecycle, AFailedStartEndsAJobThatWasCancelledMeanwhile) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  rig_.start(id, {0});
  rig_.tell({CancelAsked{id}});
  expect_finished(rig_.tell({StartFailed{id, Attempt(1)}}), id, Outcome::Cancelled);
}

TEST_F(Lifecycle, AFailedStartOfAPreemptedJobDoesNotCountAgainstIt) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  rig_.start(id, {0});
  rig_.preempt(id, PreemptHow::Suspend);
  rig_.tell({StartFailed{id, Attempt(1)}});
  EXPECT_EQ(rig_.state(id), JobState::Queued);  // there is no process to continue
  EXPECT_EQ(rig_.job(id).failed_starts, 0);
}

TEST_F(Lifecycle, AFailedStartEndsAMove) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  rig_.start(id, {0});
  rig_.decide({Migrate{.job = id, .placement = on(rig_.cluster(), {1})}});
  EXPECT_TRUE(rig_.job(id).migrating);
  rig_.tell({StartFailed{id, Attempt(1)}});
  EXPECT_EQ(rig_.state(id), JobState::Queued);
  EXPECT_FALSE(rig_.job(id).migrating);
}

// ---- Exits, in every state -------------------------------------------------------------------

TEST_F(Lifecycle, AnExitHoldsTheChargeUntilTheMemoryIsFree) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  EXPECT_TRUE(rig_.exited(id, Outcome::Failed, 3).list.empty());
  EXPECT_EQ(rig_.state(id), JobState::Stopping);
  EXPECT_EQ(rig_.gpu(0).charged, 4_GiB);
  const Effects& effects = rig_.released(id);
  EXPECT_EQ(only<Finished>(effects)->code, 3);
  expect_finished(effects, id, Outcome::Failed);
  EXPECT_EQ(rig_.gpu(0), GpuUse{});
}

TEST_F(Lifecycle, EveryOutcomeIsPassedOn) {
  for (const Outcome outcome : {Outcome::Done, Outcome::Failed, Outcome::Oom, Outcome::Lost}) {
    const JobId id = rig_.run(shared(1, 4_GiB), {0});
    rig_.exited(id, outcome);
    expect_finished(rig_.released(id), id, outcome);
  }
}

TEST_F(Lifecycle, AnExitMayOvertakeTheStart) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  rig_.start(id, {0});
  rig_.exited(id);
  rig_.tell({Started{id, Attempt(1)}});
  EXPECT_EQ(rig_.state(id), JobState::Stopping);
  expect_finished(rig_.released(id), id, Outcome::Done);
}

TEST_F(Lifecycle, AnExitReportedTwiceCountsOnce) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  rig_.exited(id);
  EXPECT_TRUE(rig_.exited(id).list.empty());
  expect_finished(rig_.released(id), id, Outcome::Done);
}

TEST_F(Lifecycle, ADeathByRequeueIsNoEnd) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  EXPECT_EQ(only<Stop>(rig_.preempt(id, PreemptHow::Requeue))->how, PreemptHow::Requeue);
  rig_.exited(id, Outcome::Failed, 143);
  EXPECT_TRUE(rig_.released(id).list.empty());
  EXPECT_EQ(rig_.state(id), JobState::Queued);
  EXPECT_EQ(rig_.job(id).preemptions, 1);
  EXPECT_EQ(only<Launch>(rig_.start(id, {0}))->attempt, Attempt(2));
}

TEST_F(Lifecycle, AJobThatIsDoneWhileBeingRequeuedIsDone) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  rig_.preempt(id, PreemptHow::Requeue);
  rig_.exited(id, Outcome::Done);
  expect_finished(rig_.released(id), id, Outcome::Done);
}

TEST_F(Lifecycle, AJobThatDiesWhileBeingSuspendedIsOver) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  rig_.preempt(id, PreemptHow::Suspend);
  rig_.exited(id, Outcome::Oom, 1);
  expect_finished(rig_.released(id), id, Outcome::Oom);
}

TEST_F(Lifecycle, ASuspendedJobThatDiesIsOverAtOnce) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  rig_.preempt(id, PreemptHow::Suspend);
  rig_.released(id);
  const Effects& effects = rig_.exited(id, Outcome::Lost);
  EXPECT_EQ(effects.list.size(), 1U);  // no process is left to stop
  expect_finished(effects, id, Outcome::Lost);
}

TEST_F(Lifecycle, AnExitOfAQueuedJobChangesNothing) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  EXPECT_TRUE(rig_.exited(id).list.empty());
  EXPECT_EQ(rig_.state(id), JobState::Queued);
}

// ---- Releases --------------------------------------------------------------------------------

TEST_F(Lifecycle, ASuspendedJobContinuesAsTheNextAttempt) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  EXPECT_EQ(only<Stop>(rig_.preempt(id, PreemptHow::Suspend))->how, PreemptHow::Suspend);
  rig_.released(id);
  EXPECT_EQ(rig_.state(id), JobState::Suspended);
  EXPECT_EQ(rig_.gpu(0).charged, Bytes(0));
  const auto* const again = only<Continue>(rig_.resume(id, {4}));
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->attempt, Attempt(2));
  EXPECT_EQ(rig_.gpu(4).charged, 4_GiB);
}

TEST_F(Lifecycle, ASuspendedJobThatCannotContinueStartsAnew) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  rig_.preempt(id, PreemptHow::Suspend);
  rig_.released(id);
  rig_.resume(id, {0});
  rig_.tell({StartFailed{id, Attempt(2)}});
  EXPECT_EQ(rig_.state(id), JobState::Queued);
  EXPECT_EQ(only<Launch>(rig_.start(id, {0}))->attempt, Attempt(3));
}

TEST_F(Lifecycle, AReleaseOfARunningJobChangesNothing) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  EXPECT_TRUE(rig_.released(id).list.empty());
  EXPECT_EQ(rig_.state(id), JobState::Running);
  EXPECT_EQ(rig_.gpu(0).charged, 4_GiB);
}

TEST_F(Lifecycle, AReleaseReportedTwiceCountsOnce) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  rig_.preempt(id, PreemptHow::Requeue);
  rig_.released(id);
  rig_.released(id);
  EXPECT_EQ(rig_.state(id), JobState::Queued);
  EXPECT_EQ(rig_.account().jobs, 0);
}

TEST_F(Lifecycle, ALateReleaseDoesNotTouchTheNextAttempt) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  rig_.preempt(id, PreemptHow::Requeue);
  rig_.released(id);
  rig_.start(id, {0});
  rig_.preempt(id, PreemptHow::Requeue);
  rig_.tell({Released{id, Attempt(1)}});
  EXPECT_EQ(rig_.state(id), JobState::Stopping);
  EXPECT_EQ(rig_.gpu(0).charged, 4_GiB);
}

TEST_F(Lifecycle, ALateReleaseDoesNotTouchTheBerthAfterAResume) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  rig_.preempt(id, PreemptHow::Suspend);
  rig_.released(id);
  rig_.resume(id, {0});
  rig_.preempt(id, PreemptHow::Suspend);
  rig_.tell({Released{id, Attempt(1)}});
  EXPECT_EQ(rig_.state(id), JobState::Stopping);
  EXPECT_EQ(rig_.gpu(0).charged, 4_GiB);
}

TEST_F(Lifecycle, AMigratedJobIsSuspendedWithoutAPreemption) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  const auto* const stop =
      only<Stop>(rig_.decide({Migrate{.job = id, .placement = on(rig_.cluster(), {1})}}));
  EXPECT_EQ(stop->why, StopFor::Migration);
  rig_.released(id);
  EXPECT_EQ(rig_.state(id), JobState::Suspended);
  EXPECT_FALSE(rig_.job(id).migrating);
  EXPECT_EQ(rig_.job(id).preemptions, 0);
}

// ---- Reports and estimates -------------------------------------------------------------------

TEST_F(Lifecycle, ProgressIsWhatTheJobReported) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  rig_.tell({Reported{id, "done", 3}, Reported{id, "total", 10}, Reported{id, "loss", 5}});
  EXPECT_EQ(rig_.job(id).progress, (Progress{.done = 3, .total = 10}));
}

TEST_F(Lifecycle, AClassIsWhatThePolicySays) {
  const JobId id = rig_.submit(shared(1, 4_GiB));
  rig_.decide({Classify{id, DurationClass::Long}});
  EXPECT_EQ(rig_.job(id).spec.duration_class, DurationClass::Long);
}

TEST_F(Lifecycle, ARejectedJobIsToldWhatItAsked) {
  const JobId id = rig_.submit(shared(2, 4_GiB));
  const Effects& effects = rig_.decide({Reject{id}});
  EXPECT_EQ(only<Finished>(effects)->note,
            "job 1: asks 2 GPUs of 4 GiB, which has no place even on the empty cluster");
  expect_finished(effects, id, Outcome::Rejected);
}

}  // namespace
}  // namespace berth::test
