// Goal: whatever call of the driver fails or hangs while a job is suspended or goes on, and
// wherever berthd is killed, the job loses nothing; a job that cannot go on ends and says why.
// Method: a real berthd, berth-load on emulated GPUs, and faults of their driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "daemon/suspend_rig.hpp"

namespace berth {
namespace {

using emu::CheckpointCall;
using emu::CheckpointFault;
using test::eventually;
using test::Json;
using test::kMany;
using test::SuspendRig;
using testing::HasSubstr;

struct Case {
  CheckpointCall call;
  const char* name;
};

class SuspendFault : public testing::TestWithParam<Case> {};

TEST_P(SuspendFault, IsUndoneAndNamed) {
  SuspendRig rig;
  const int id = rig.submit_load();
  rig.inject({.call = GetParam().call, .error = 46});
  rig.suspend(id);
  const std::string why = rig.wait_until_put_back(id);
  EXPECT_THAT(why, HasSubstr(std::string("was not suspended: cuCheckpointProcess") +
                             GetParam().name + " of process "));
  EXPECT_THAT(why, HasSubstr("CUDA_ERROR_DEVICE_UNAVAILABLE"));
  rig.expect_complete(id);
}

TEST_P(SuspendFault, AHangIsCutOffAndUndone) {
  SuspendRig rig;
  const int id = rig.submit_load(0, kMany);
  rig.inject({.call = GetParam().call, .delay_millis = CheckpointFault::kHangs});
  rig.suspend(id);
  EXPECT_THAT(rig.wait_until_put_back(id), HasSubstr("the driver did not answer for"));
  rig.expect_complete(id, kMany);
}

INSTANTIATE_TEST_SUITE_P(Calls, SuspendFault,
                         testing::Values(Case{CheckpointCall::State, "GetState"},
                                         Case{CheckpointCall::Lock, "Lock"},
                                         Case{CheckpointCall::Checkpoint, "Checkpoint"}),
                         [](const auto& test) { return test.param.name; });

class ResumeFault : public testing::TestWithParam<Case> {};

TEST_P(ResumeFault, LeavesItSuspendedUntilTheNextTry) {
  SuspendRig rig;
  const int id = rig.submit_suspended();
  rig.inject({.call = GetParam().call, .error = 2});
  rig.resume(id);
  std::string said;
  eventually("it was tried in vain", [&] {
    const Json job = rig.job(id);
    said += job["reason"].get<std::string>();
    return said.find("CUDA_ERROR_OUT_OF_MEMORY") != std::string::npos || job["state"] == "running";
  });
  EXPECT_THAT(
      said, HasSubstr(std::string("could not be started: cuCheckpointProcess") + GetParam().name));
  rig.expect_complete(id);
}

TEST_P(ResumeFault, AHangIsCutOffAndTriedAgain) {
  SuspendRig rig;
  const int id = rig.submit_suspended(0, kMany);
  rig.inject({.call = GetParam().call, .delay_millis = CheckpointFault::kHangs});
  rig.resume(id);
  rig.expect_complete(id, kMany);
}

INSTANTIATE_TEST_SUITE_P(Calls, ResumeFault,
                         testing::Values(Case{CheckpointCall::State, "GetState"},
                                         Case{CheckpointCall::Restore, "Restore"},
                                         Case{CheckpointCall::Unlock, "Unlock"}),
                         [](const auto& test) { return test.param.name; });

TEST(Suspend, AJobThatTheDriverGaveUpEndsAndSaysWhy) {
  SuspendRig rig;
  const int id = rig.submit_load();
  rig.inject({.call = CheckpointCall::Checkpoint, .error = 999, .is_late = true});
  rig.suspend(id);
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["state"], "failed");
  EXPECT_THAT(job["note"].get<std::string>(),
              HasSubstr("was not suspended: cuCheckpointProcessCheckpoint of process "));
  EXPECT_THAT(job["note"].get<std::string>(), HasSubstr("could not be undone"));
  rig.wait_until_free();
}

// ---- The end of berthd -----------------------------------------------------------------------

/// After ever longer: between any two of the calls.
constexpr auto kStep = std::chrono::milliseconds(25);

class KilledBerthd : public testing::TestWithParam<int> {};

TEST_P(KilledBerthd, FinishesASuspensionAfterARestart) {
  SuspendRig rig;
  const int id = rig.submit_load();
  rig.make_slow();
  rig.suspend(id);
  std::this_thread::sleep_for(GetParam() * kStep);
  rig.kill();
  rig.start();
  rig.wait_for(id, "suspended");
  rig.wait_until_free();
  rig.resume(id);
  rig.expect_complete(id);
}

TEST_P(KilledBerthd, FinishesAResumptionAfterARestart) {
  SuspendRig rig;
  const int id = rig.submit_suspended();
  rig.make_slow();
  rig.resume(id);
  std::this_thread::sleep_for(GetParam() * kStep);
  rig.kill();
  rig.start();
  rig.expect_complete(id);
}

INSTANTIATE_TEST_SUITE_P(Moments, KilledBerthd, testing::Range(0, 8));

TEST(Suspend, OutlastsBerthd) {
  SuspendRig rig;
  const int id = rig.submit_suspended();
  for (int times = 0; times < 2; ++times) {
    EXPECT_EQ(rig.stop(), 0);
    rig.start();
    EXPECT_THAT(rig.wait_for(id, "suspended")["reason"].get<std::string>(),
                HasSubstr("suspended by its owner, its 20.2 GiB are in host memory"));
  }
  rig.resume(id);
  rig.expect_complete(id);
}

}  // namespace
}  // namespace berth
