// Goal: whichever call of the driver goes wrong while a job of two processes is suspended or goes
// on, and between whichever two calls berthd is killed, the job is put back or ended and marked, no
// step is lost, and what the ledger charges is what is there.
// Method: a real berthd, two processes of berth-load on one emulated GPU, and a fault at the n-th
// call of each kind, for each n that there is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/suspend_rig.hpp"

namespace berth {
namespace {

using emu::CheckpointCall;
using emu::CheckpointFault;
using test::eventually;
using test::Json;
using test::kGiB;
using test::SuspendRig;
using testing::HasSubstr;

/// The n-th call of this kind, while the job is suspended or goes on.
struct Point {
  CheckpointCall call;
  std::uint8_t skip;
};

/// Each looks at the state of a process before it does something to it.
std::vector<Point> points(CheckpointCall first, CheckpointCall second) {
  std::vector<Point> all;
  for (std::uint8_t n = 0; n < 4; ++n) all.push_back({CheckpointCall::State, n});
  for (const CheckpointCall call : {first, second}) {
    for (std::uint8_t n = 0; n < 2; ++n) all.push_back({call, n});
  }
  return all;
}
const std::vector<Point> kSuspending = points(CheckpointCall::Lock, CheckpointCall::Checkpoint);
const std::vector<Point> kResuming = points(CheckpointCall::Restore, CheckpointCall::Unlock);

std::string text_of(const Point& point) {
  return "call " + std::to_string(static_cast<int>(point.call)) + ", after " +
         std::to_string(point.skip);
}

/// A job of two processes, of which each holds 5 GiB and makes steps without end.
class SuspendCalls : public testing::Test {
 protected:
  /// A call that hangs is cut off the sooner, the less there is to copy.
  int start(std::int64_t gib = 5) {
    const std::string one =
        test::load("--vram " + std::to_string(gib) + "G --steps 1000000 --step-ms 10 --report 10");
    const int id = rig_.submit(one + " & " + one + " & wait", test::vram(12));
    eventually("both hold memory", [&] { return rig_.used() > 2 * gib * kGiB + kGiB / 2; });
    held_ = rig_.used();
    charged_ = charged();
    return id;
  }
  Json gpu() { return rig_.request("GET", "/v1/gpus").body["gpus"][0]; }
  std::string state(int id) { return rig_.job(id)["state"].get<std::string>(); }
  std::int64_t charged() { return gpu()["charged_bytes"].get<std::int64_t>(); }

  /// It holds all it held, and is charged for it.
  void expect_runs(int id) {
    eventually("it holds its memory", [&] { return rig_.used() == held_; });
    EXPECT_EQ(charged(), charged_);
    EXPECT_EQ(state(id), "running");
  }
  void expect_nothing_left() {
    eventually("its memory is gone", [&] { return rig_.used() == 0 && charged() == 0; });
  }
  /// It has its GPU since the failure of a try before this one.
  void await_later_try(int id, std::size_t attempts_before) {
    rig_.wait_for(id, "running");
    const Json attempts = rig_.job(id)["attempts"];
    ASSERT_GE(attempts.size(), attempts_before + 2);
    EXPECT_TRUE(attempts[attempts_before]["started_at"].is_null()) << attempts;
    EXPECT_FALSE(attempts.back()["started_at"].is_null()) << attempts;
  }
  /// Until the fault was met. Requires: it was injected once.
  void await_met(const Point& point) {
    eventually("the call is made", [&] {
      const auto left = emu::checkpoint_faults_left(rig_.state() + "/emulated-gpus", point.call);
      return left && *left == 0;
    });
  }
  /// It makes steps in both processes.
  void expect_steps(int id) {
    const std::size_t before = rig_.log(id).size();
    eventually("it makes steps", [&] { return rig_.log(id).size() > before + 60; });
  }
  void cancel(int id) {
    EXPECT_EQ(rig_.request("POST", test::path(id, "/cancel")).status, 200);
    rig_.wait_end(id);
    expect_nothing_left();
  }

  SuspendRig rig_;
  std::int64_t held_ = 0;
  std::int64_t charged_ = 0;
};

TEST_F(SuspendCalls, EachThatFailsWhileSuspendingPutsTheJobBack) {
  const int id = start();
  for (const Point& point : kSuspending) {
    SCOPED_TRACE(text_of(point));
    rig_.inject({.call = point.call, .error = 46, .skip = point.skip});
    rig_.suspend(id);
    await_met(point);
    EXPECT_THAT(rig_.wait_until_put_back(id), HasSubstr("was not suspended: cuCheckpointProcess"));
    expect_runs(id);
    expect_steps(id);
  }
  rig_.suspend(id);
  rig_.wait_for(id, "suspended");
  expect_nothing_left();
  rig_.resume(id);
  rig_.wait_for(id, "running");
  expect_runs(id);
  expect_steps(id);
  cancel(id);
}

/// At the second process, when the first is locked or checkpointed already.
TEST_F(SuspendCalls, EachThatHangsWhileSuspendingPutsTheJobBack) {
  const int id = start(0);
  for (const CheckpointCall call :
       {CheckpointCall::State, CheckpointCall::Lock, CheckpointCall::Checkpoint}) {
    const Point point{call, 1};
    SCOPED_TRACE(text_of(point));
    rig_.inject({.call = call, .delay_millis = CheckpointFault::kHangs, .skip = 1});
    rig_.suspend(id);
    await_met(point);
    EXPECT_THAT(rig_.wait_until_put_back(id), HasSubstr("the driver did not answer for"));
    expect_runs(id);
    expect_steps(id);
  }
  cancel(id);
}

/// A checkpoint that ends with an error that gives the process up cannot be undone.
TEST_F(SuspendCalls, EachThatGivesAProcessUpEndsTheJob) {
  for (std::uint8_t skip = 0; skip < 2; ++skip) {
    const int id = start();
    rig_.inject({.call = CheckpointCall::Checkpoint, .error = 999, .is_late = true, .skip = skip});
    rig_.suspend(id);
    const Json job = rig_.wait_end(id);
    EXPECT_EQ(job["state"], "failed");
    EXPECT_THAT(job["note"].get<std::string>(), HasSubstr("could not be undone"));
    expect_nothing_left();
  }
}

TEST_F(SuspendCalls, EachThatFailsWhileGoingOnIsTriedAgain) {
  const int id = start();
  for (const Point& point : kResuming) {
    SCOPED_TRACE(text_of(point));
    rig_.suspend(id);
    rig_.wait_for(id, "suspended");
    expect_nothing_left();
    const std::size_t attempts = rig_.job(id)["attempts"].size();
    rig_.inject({.call = point.call, .error = 2, .skip = point.skip});
    rig_.resume(id);
    await_met(point);
    await_later_try(id, attempts);
    expect_runs(id);
    expect_steps(id);
  }
  cancel(id);
}

/// At the second process, when the first may have its memory back already.
TEST_F(SuspendCalls, EachThatHangsWhileGoingOnIsTriedAgain) {
  const int id = start(0);
  for (const CheckpointCall call :
       {CheckpointCall::State, CheckpointCall::Restore, CheckpointCall::Unlock}) {
    const Point point{call, 1};
    SCOPED_TRACE(text_of(point));
    rig_.suspend(id);
    rig_.wait_for(id, "suspended");
    expect_nothing_left();
    const std::size_t attempts = rig_.job(id)["attempts"].size();
    rig_.inject({.call = call, .delay_millis = CheckpointFault::kHangs, .skip = 1});
    rig_.resume(id);
    await_met(point);
    await_later_try(id, attempts);
    expect_runs(id);
    expect_steps(id);
  }
  cancel(id);
}

/// The call that berthd's end is met by does nothing, so each is an end between two calls.
TEST_F(SuspendCalls, BerthdMayBeKilledBetweenAnyTwo) {
  const int id = start();
  for (std::size_t i = 0; i < kSuspending.size(); ++i) {
    for (const bool goes_on : {false, true}) {
      const Point& point = goes_on ? kResuming[i] : kSuspending[i];
      SCOPED_TRACE(text_of(point) + (goes_on ? " of resume" : " of suspend"));
      rig_.inject(
          {.call = point.call, .delay_millis = CheckpointFault::kHangs, .skip = point.skip});
      goes_on ? rig_.resume(id) : rig_.suspend(id);
      await_met(point);
      rig_.kill();
      rig_.start();
      rig_.wait_for(id, goes_on ? "running" : "suspended");
      if (goes_on) {
        expect_runs(id);
        expect_steps(id);
      } else {
        expect_nothing_left();
      }
    }
  }
  cancel(id);
}

}  // namespace
}  // namespace berth
