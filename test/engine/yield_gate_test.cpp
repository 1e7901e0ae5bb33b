// Goal: under the gate yield jobs leave the GPU of a busy service, come back when it is calm, and
// have their share of the time though it never is.
// Method: an engine with one GPU, and a service there that reports `busy`.
#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth {
namespace {

using namespace berth::literals;

constexpr std::uint64_t kService = 1;
constexpr std::uint64_t kTraining = 2;

/// Minutes from the start.
Instant at(std::int64_t minute) { return kStart + minutes(minute); }

class YieldGate : public testing::Test {
 protected:
  explicit YieldGate(bool can_suspend = true)
      : engine_(cluster(), {.settings = {.can_suspend = can_suspend}},
                *make_policy("fifo-skip+yield:yield_for=15m:yield_after=5m", "first-fit")) {
    step(kStart, {job(kService, DurationClass::Service), job(kTraining, DurationClass::Long)});
    step(kStart, {started(kService), started(kTraining)});
  }

  static Cluster cluster() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n0", .gpus = 1, .vram = 24_GiB, .slots = 4});
    return cluster;
  }
  static Submitted job(std::uint64_t id, DurationClass what) {
    Submitted submitted{.job = JobId(id), .spec = {.duration_class = what}};
    submitted.spec.request.gpu.count = 1_gpus;
    submitted.spec.request.gpu.vram = 4_GiB;
    return submitted;
  }
  Started started(std::uint64_t id) const {
    return {JobId(id), engine_.view().find(JobId(id))->attempt};
  }
  Released released(std::uint64_t id) const {
    return {JobId(id), engine_.view().find(JobId(id))->attempt};
  }
  static Reported busy(std::int64_t value) {
    return {.job = JobId(kService), .key = "busy", .value = value * 1'000'000};
  }
  void step(Instant now, std::vector<Input> inputs) { engine_.step(now, inputs); }
  /// The service is busy from minute 10 on, and the job leaves at once.
  void burst() {
    step(at(10), {busy(1)});
    step(at(10), {released(kTraining)});
  }
  JobState state(std::uint64_t id) const { return engine_.view().find(JobId(id))->state; }

  Engine engine_;
};

TEST_F(YieldGate, AJobIsSuspendedWhileTheServiceIsBusyAndComesBackAtOnceWhenItIsCalm) {
  step(at(10), {busy(1)});
  EXPECT_EQ(state(kTraining), JobState::Stopping);
  EXPECT_EQ(state(kService), JobState::Running);
  step(at(10), {released(kTraining)});
  EXPECT_EQ(state(kTraining), JobState::Suspended);
  step(at(12), {busy(0)});
  EXPECT_EQ(state(kTraining), JobState::Starting);
  EXPECT_EQ(engine_.dropped(), 0U);
}

TEST_F(YieldGate, ItHasItsPlaceAgainAfterTheBoundThoughTheServiceStaysBusy) {
  burst();
  EXPECT_EQ(engine_.effects().wake_at, at(25));
  step(at(25) - Duration(1), {Ticked{}});
  EXPECT_EQ(state(kTraining), JobState::Suspended);
  step(at(25), {Ticked{}});
  EXPECT_EQ(state(kTraining), JobState::Starting);
  step(at(25), {started(kTraining)});
  EXPECT_EQ(engine_.effects().wake_at, at(30));
  step(at(30) - Duration(1), {Ticked{}});
  EXPECT_EQ(state(kTraining), JobState::Running) << "it keeps its place for a while";
  step(at(30), {Ticked{}});
  EXPECT_EQ(state(kTraining), JobState::Stopping);
}

TEST_F(YieldGate, NothingElseStartsThereMeanwhileButAnotherService) {
  burst();
  step(at(11), {job(3, DurationClass::Short)});
  EXPECT_EQ(state(3), JobState::Queued);
  EXPECT_EQ(engine_.refused(JobId(3))->refusal.why, Why::Patience);
  Submitted other = job(4, DurationClass::Service);
  other.spec.user = UserId(7);
  other.spec.request.gpu.vram = 5_GiB;  // of another shape, so that it is looked at for itself
  step(at(11), {other});
  EXPECT_EQ(state(4), JobState::Starting);
}

TEST_F(YieldGate, AServiceThatEndsLeavesNobodyWaiting) {
  burst();
  step(at(11), {Exited{.job = JobId(kService), .attempt = Attempt(1)}});
  step(at(11), {Released{JobId(kService), Attempt(1)}});
  EXPECT_EQ(state(kTraining), JobState::Starting);
}

TEST_F(YieldGate, AJobThatCouldNotBeSuspendedIsLeftAlone) {
  step(at(10), {busy(1)});
  step(at(10),
       {SuspendFailed{
           .job = JobId(kTraining), .attempt = started(kTraining).attempt, .stays_until = at(20)}});
  EXPECT_EQ(state(kTraining), JobState::Running);
  step(at(11), {Ticked{}});
  EXPECT_EQ(state(kTraining), JobState::Running);
}

/// Where nothing can be suspended.
class YieldGateWithoutSuspension : public YieldGate {
 protected:
  YieldGateWithoutSuspension() : YieldGate(false) {}
};

TEST_F(YieldGateWithoutSuspension, NoJobBeginsAgainFromNothingForAService) {
  step(at(10), {busy(1)});
  EXPECT_EQ(state(kTraining), JobState::Running);
}

}  // namespace
}  // namespace berth
