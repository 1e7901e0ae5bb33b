// Goal: a job that nobody wrote for it is taken off its GPUs and goes on as if nothing had
// happened, whatever call of the driver fails or hangs, and wherever berthd is killed; a job that
// cannot go on ends and says why. Method: a real berthd, berth-load on emulated GPUs, and faults of
// their driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "daemon/cgroup.hpp"
#include "daemon/rig.hpp"
#include "emu/emulator.hpp"

namespace berth {
namespace {

using emu::CheckpointCall;
using emu::CheckpointFault;
using test::eventually;
using test::Json;
using test::kGiB;
using test::Rig;
using testing::HasSubstr;

constexpr const char* kRoom =
    "probe = \"100ms\"\ngrace = \"500ms\"\nsuspend_host_memory = \"100GiB\"\n"
    "suspend_patience = \"1s\"\n";

Json vram(std::int64_t gib) { return {{"vram_bytes", gib * kGiB}}; }

void inject(const Rig& rig, const CheckpointFault& fault) {
  const auto done = emu::inject_checkpoint_fault(rig.state() + "/emulated-gpus", fault);
  ASSERT_TRUE(done) << done.error();
}

/// Steps that take longer than it takes to cut off a call, or for others to come.
constexpr int kMany = 500;
constexpr int kSteps = 250;  ///< Of a job that is suspended as soon as it makes some.

/// A job whose steps are counted in its log, so that none is lost and none is made twice.
int submit_load(Rig& rig, std::int64_t gib = 20, int all_steps = kSteps) {
  const int id =
      rig.submit(test::load("--vram " + std::to_string(gib) +
                            "G --step-ms 10 --report 10 --steps " + std::to_string(all_steps)),
                 vram(gib + 1));
  rig.wait_for(id, "running");
  eventually("it makes steps", [&] { return rig.log(id).find("step 10/") != std::string::npos; });
  return id;
}

void expect_complete(Rig& rig, int id, int all_steps = kSteps) {
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["state"], "done") << job;
  std::vector<std::string> steps;
  std::istringstream lines(rig.log(id));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("step ")) steps.push_back(line.substr(5, line.find(' ', 5) - 5));
  }
  std::vector<std::string> expected;
  const std::string of_all = "/" + std::to_string(all_steps);
  for (int step = 10; step <= all_steps; step += 10) {
    expected.push_back(std::to_string(step) + of_all);
  }
  EXPECT_EQ(steps, expected);
  EXPECT_TRUE(std::filesystem::is_empty(rig.state() + "/suspended"));
}

Rig::Answer ask(Rig& rig, int id, const std::string& verb) {
  return rig.request("POST", test::path(id, "/" + verb));
}

void suspend(Rig& rig, int id) {
  const auto answer = ask(rig, id, "suspend");
  EXPECT_EQ(answer.status, 200) << answer.body;
}

void resume(Rig& rig, int id) {
  const auto answer = ask(rig, id, "resume");
  EXPECT_EQ(answer.status, 200) << answer.body;
}

std::int64_t used(Rig& rig, int gpu = 0) {
  return rig.request("GET", "/v1/gpus").body["gpus"][gpu]["used_bytes"].get<std::int64_t>();
}

/// It was to be suspended, and runs on. Returns: why.
std::string wait_until_put_back(Rig& rig, int id) {
  Json job;
  eventually("it runs on", [&] {
    job = rig.job(id);
    return job["state"] == "running" && job["reason"] != "";
  });
  return job["reason"].get<std::string>();
}

TEST(Suspend, AJobLeavesItsGpuAndGoesOnWhereItWas) {
  Rig rig({.gpus = "1x24GiB", .config = kRoom});
  rig.start();
  const int id = submit_load(rig);
  suspend(rig, id);
  const Json job = rig.wait_for(id, "suspended");
  EXPECT_THAT(job["reason"].get<std::string>(),
              HasSubstr("suspended by its owner, its 20.2 GiB are in host memory"));
  eventually("its memory is gone", [&] { return used(rig) == 0; });
  const std::string before = rig.log(id);
  const int other = rig.submit(test::load("--vram 20G --steps 10"), vram(21));
  EXPECT_EQ(rig.wait_end(other)["state"], "done");
  EXPECT_EQ(rig.log(id), before) << "it is frozen";
  const Json why = rig.request("GET", test::path(id, "/why")).body;
  EXPECT_THAT(why["reason"].get<std::string>(), HasSubstr("suspended by its owner, its 20.2 GiB"));
  resume(rig, id);
  expect_complete(rig, id);
  const Json attempts = rig.job(id)["attempts"];
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0]["note"], "was suspended");
}

TEST(Suspend, OnlyWhatRunsIsSuspendedAndOnlyWhatItsOwnerSuspendedIsResumed) {
  Rig rig({.gpus = "1x24GiB", .config = kRoom});
  rig.start();
  const int id = submit_load(rig);
  const int queued = rig.submit("true", vram(21));
  EXPECT_THAT(ask(rig, queued, "suspend").body["error"].get<std::string>(),
              HasSubstr("is queued, only a running job can be suspended"));
  EXPECT_THAT(ask(rig, id, "resume").body["error"].get<std::string>(),
              HasSubstr("is running, only a suspended job can be resumed"));
  suspend(rig, id);
  rig.wait_for(id, "suspended");
  EXPECT_THAT(ask(rig, id, "suspend").body["error"].get<std::string>(),
              HasSubstr("is suspended already"));
  EXPECT_THAT(ask(rig, id, "release").body["error"].get<std::string>(),
              HasSubstr("only a held job can be released"));
  resume(rig, id);
  expect_complete(rig, id);
}

TEST(Suspend, AllProcessesOfAJobAreSuspended) {
  Rig rig({.gpus = "1x24GiB", .config = kRoom});
  rig.start();
  const std::string one = test::load("--vram 5G --steps 100 --step-ms 10 --report 0");
  const int id = rig.submit(
      one + " & " + one + " & (while [ ! -e go ]; do sleep 0.01; echo x; done) & wait", vram(12));
  eventually("both hold memory", [&] { return used(rig) > 10 * kGiB; });
  suspend(rig, id);
  rig.wait_for(id, "suspended");
  eventually("the memory of both is gone", [&] { return used(rig) == 0; });
  const std::string before = rig.log(id);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(rig.log(id), before) << "the one without a GPU is frozen too";
  resume(rig, id);
  rig.wait_for(id, "running");
  rig.folder().write("go", "");
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
}

TEST(Suspend, AJobGoesOnOnAnotherGpu) {
  Rig rig({.gpus = "2x24GiB", .config = kRoom});
  rig.start();
  const int id = submit_load(rig);
  const int before = rig.job(id)["gpus"][0].get<int>();
  suspend(rig, id);
  rig.wait_for(id, "suspended");
  std::vector<int> others;
  for (int other = 0; other < 2; ++other) others.push_back(rig.submit(test::kUntilGo, vram(20)));
  for (const int other : others) rig.wait_for(other, "running");
  const auto there = [&](int other) { return rig.job(other)["gpus"][0] != before; };
  const int elsewhere = there(others[0]) ? others[0] : others[1];
  ASSERT_TRUE(there(elsewhere));
  resume(rig, id);
  EXPECT_EQ(rig.request("POST", test::path(elsewhere, "/cancel")).status, 200);
  rig.wait_for(id, "running");
  EXPECT_NE(rig.job(id)["gpus"][0], before);
  expect_complete(rig, id);
}

TEST(Suspend, ASuspendedJobCanBeCancelled) {
  Rig rig({.gpus = "1x24GiB", .config = kRoom});
  rig.start();
  const int id = submit_load(rig);
  const pid_t shim = rig.shim_of(id);
  suspend(rig, id);
  rig.wait_for(id, "suspended");
  EXPECT_EQ(rig.request("POST", test::path(id, "/cancel")).status, 200);
  EXPECT_EQ(rig.wait_end(id)["state"], "cancelled");
  eventually("its processes are gone", [&] { return !test::is_alive(shim); });
  EXPECT_TRUE(std::filesystem::is_empty(rig.state() + "/suspended"));
}

TEST(Suspend, AJobThatDoesNotFitIntoHostMemoryRunsOn) {
  Rig rig({.gpus = "1x24GiB", .config = "probe = \"100ms\"\nsuspend_host_memory = \"10GiB\"\n"});
  rig.start();
  const int id = submit_load(rig);
  suspend(rig, id);
  EXPECT_EQ(wait_until_put_back(rig, id),
            "was not suspended: it holds 20.2 GiB of GPU memory, and of suspend_host_memory (10 "
            "GiB) 10 GiB are left");
  expect_complete(rig, id);
}

TEST(Suspend, AJobInACgroupIsFrozenByIt) {
  const test::Cgroup cgroup;
  if (cgroup.path().empty()) GTEST_SKIP() << "no cgroup v2 can be made here";
  Rig rig({.gpus = "1x24GiB", .config = kRoom + ("cgroup = \"" + cgroup.path() + "\"\n")});
  rig.start();
  const int id = submit_load(rig);
  suspend(rig, id);
  rig.wait_for(id, "suspended");
  const auto groups = cgroup.groups();
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_THAT(test::slurp(groups[0] + "/cgroup.events"), HasSubstr("frozen 1"));
  resume(rig, id);
  rig.wait_for(id, "running");
  EXPECT_THAT(test::slurp(groups[0] + "/cgroup.events"), HasSubstr("frozen 0"));
  expect_complete(rig, id);
  eventually("its cgroup is gone", [&] { return cgroup.groups().empty(); });
}

// ---- Faults ----------------------------------------------------------------------------------

struct Case {
  CheckpointCall call;
  const char* name;
};

class SuspendFault : public testing::TestWithParam<Case> {};

TEST_P(SuspendFault, IsUndoneAndNamed) {
  Rig rig({.gpus = "1x24GiB", .config = kRoom});
  rig.start();
  const int id = submit_load(rig);
  inject(rig, {.call = GetParam().call, .error = 46});
  suspend(rig, id);
  const std::string why = wait_until_put_back(rig, id);
  EXPECT_THAT(why, HasSubstr(std::string("was not suspended: cuCheckpointProcess") +
                             GetParam().name + " of process "));
  EXPECT_THAT(why, HasSubstr("CUDA_ERROR_DEVICE_UNAVAILABLE"));
  expect_complete(rig, id);
}

TEST_P(SuspendFault, AHangIsCutOffAndUndone) {
  Rig rig({.gpus = "1x24GiB", .config = kRoom});
  rig.start();
  const int id = submit_load(rig, 0, kMany);
  inject(rig, {.call = GetParam().call, .delay_millis = CheckpointFault::kHangs});
  suspend(rig, id);
  EXPECT_THAT(wait_until_put_back(rig, id), HasSubstr("the driver did not answer for"));
  expect_complete(rig, id, kMany);
}

INSTANTIATE_TEST_SUITE_P(Calls, SuspendFault,
                         testing::Values(Case{CheckpointCall::State, "GetState"},
                                         Case{CheckpointCall::Lock, "Lock"},
                                         Case{CheckpointCall::Checkpoint, "Checkpoint"}),
                         [](const auto& test) { return test.param.name; });

class ResumeFault : public testing::TestWithParam<Case> {};

TEST_P(ResumeFault, LeavesItSuspendedUntilTheNextTry) {
  Rig rig({.gpus = "1x24GiB", .config = kRoom});
  rig.start();
  const int id = submit_load(rig);
  suspend(rig, id);
  rig.wait_for(id, "suspended");
  inject(rig, {.call = GetParam().call, .error = 2});
  resume(rig, id);
  std::string said;
  eventually("it was tried in vain", [&] {
    const Json job = rig.job(id);
    said += job["reason"].get<std::string>();
    return said.find("CUDA_ERROR_OUT_OF_MEMORY") != std::string::npos || job["state"] == "running";
  });
  EXPECT_THAT(
      said, HasSubstr(std::string("could not be started: cuCheckpointProcess") + GetParam().name));
  expect_complete(rig, id);
}

TEST_P(ResumeFault, AHangIsCutOffAndTriedAgain) {
  Rig rig({.gpus = "1x24GiB", .config = kRoom});
  rig.start();
  const int id = submit_load(rig, 0, kMany);
  suspend(rig, id);
  rig.wait_for(id, "suspended");
  inject(rig, {.call = GetParam().call, .delay_millis = CheckpointFault::kHangs});
  resume(rig, id);
  expect_complete(rig, id, kMany);
}

INSTANTIATE_TEST_SUITE_P(Calls, ResumeFault,
                         testing::Values(Case{CheckpointCall::State, "GetState"},
                                         Case{CheckpointCall::Restore, "Restore"},
                                         Case{CheckpointCall::Unlock, "Unlock"}),
                         [](const auto& test) { return test.param.name; });

TEST(Suspend, AJobThatTheDriverGaveUpEndsAndSaysWhy) {
  Rig rig({.gpus = "1x24GiB", .config = kRoom});
  rig.start();
  const int id = submit_load(rig);
  inject(rig, {.call = CheckpointCall::Checkpoint, .error = 999, .is_late = true});
  suspend(rig, id);
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["state"], "failed");
  EXPECT_THAT(job["note"].get<std::string>(),
              HasSubstr("was not suspended: cuCheckpointProcessCheckpoint of process "));
  EXPECT_THAT(job["note"].get<std::string>(), HasSubstr("could not be undone"));
  eventually("its memory is gone", [&] { return used(rig) == 0; });
}

// ---- The end of berthd -----------------------------------------------------------------------

/// Every call takes a while, and berthd is killed after ever longer: between any two of them.
constexpr std::uint32_t kSlow = 40;
constexpr auto kStep = std::chrono::milliseconds(25);

void make_slow(const Rig& rig) {
  for (const auto call : {CheckpointCall::State, CheckpointCall::Lock, CheckpointCall::Checkpoint,
                          CheckpointCall::Restore, CheckpointCall::Unlock}) {
    inject(rig, {.call = call, .delay_millis = kSlow, .times = CheckpointFault::kAlways});
  }
}

class KilledBerthd : public testing::TestWithParam<int> {};

TEST_P(KilledBerthd, FinishesASuspensionAfterARestart) {
  Rig rig({.gpus = "1x24GiB", .config = kRoom});
  rig.start();
  const int id = submit_load(rig);
  make_slow(rig);
  suspend(rig, id);
  std::this_thread::sleep_for(GetParam() * kStep);
  rig.kill();
  rig.start();
  rig.wait_for(id, "suspended");
  eventually("its memory is gone", [&] { return used(rig) == 0; });
  resume(rig, id);
  expect_complete(rig, id);
}

TEST_P(KilledBerthd, FinishesAResumptionAfterARestart) {
  Rig rig({.gpus = "1x24GiB", .config = kRoom});
  rig.start();
  const int id = submit_load(rig);
  suspend(rig, id);
  rig.wait_for(id, "suspended");
  make_slow(rig);
  resume(rig, id);
  std::this_thread::sleep_for(GetParam() * kStep);
  rig.kill();
  rig.start();
  expect_complete(rig, id);
}

INSTANTIATE_TEST_SUITE_P(Moments, KilledBerthd, testing::Range(0, 8));

TEST(Suspend, OutlastsBerthd) {
  Rig rig({.gpus = "1x24GiB", .config = kRoom});
  rig.start();
  const int id = submit_load(rig);
  suspend(rig, id);
  rig.wait_for(id, "suspended");
  for (int times = 0; times < 2; ++times) {
    EXPECT_EQ(rig.stop(), 0);
    rig.start();
    EXPECT_THAT(rig.wait_for(id, "suspended")["reason"].get<std::string>(),
                HasSubstr("its 20.2 GiB are in host memory"));
  }
  resume(rig, id);
  expect_complete(rig, id);
}

// ---- Preemption ------------------------------------------------------------------------------

TEST(SuspendPreempts, ALongJobMakesRoomForABurstOfShortsAndLosesNothing) {
  Rig rig({.gpus = "1x24GiB", .config = std::string(kRoom) + "policy = \"srtf\"\n"});
  rig.start();
  Json much = vram(21);
  much["time_limit_seconds"] = 3600;
  Json little = vram(21);
  little["time_limit_seconds"] = 60;
  const int slow = rig.submit(test::load("--vram 20G --steps 500 --step-ms 10 --report 10"), much);
  rig.wait_for(slow, "running");
  eventually("it makes steps", [&] { return rig.log(slow).find("step 10/") != std::string::npos; });
  std::vector<int> quick;
  for (int i = 0; i < 3; ++i) {
    quick.push_back(rig.submit(test::load("--vram 20G --steps 20 --step-ms 10"), little));
  }
  EXPECT_THAT(rig.wait_for(slow, "suspended")["reason"].get<std::string>(),
              HasSubstr("suspended by the scheduler, its 20.2 GiB are in host memory"));
  for (const int id : quick) EXPECT_EQ(rig.wait_end(id)["state"], "done");
  expect_complete(rig, slow, kMany);
}

TEST(SuspendPreempts, AnOwnerCanKeepWhatTheSchedulerSuspended) {
  Rig rig({.gpus = "1x24GiB", .config = std::string(kRoom) + "policy = \"srtf\"\n"});
  rig.start();
  Json much = vram(21);
  much["time_limit_seconds"] = 3600;
  Json little = vram(21);
  little["time_limit_seconds"] = 60;
  const int slow = rig.submit(test::load("--vram 20G --steps 500 --step-ms 10 --report 10"), much);
  rig.wait_for(slow, "running");
  const int quick = rig.submit(test::kUntilGo, little);
  rig.wait_for(slow, "suspended");
  EXPECT_THAT(ask(rig, slow, "resume").body["error"].get<std::string>(),
              HasSubstr("was suspended by the scheduler"));
  suspend(rig, slow);
  rig.folder().write("go", "");
  rig.wait_end(quick);
  EXPECT_THAT(rig.job(slow)["reason"].get<std::string>(), HasSubstr("suspended by its owner"));
  resume(rig, slow);
  expect_complete(rig, slow, kMany);
}

TEST(SuspendPreempts, APolicyThatPreemptsIsRefusedWhereNothingCanBeSuspended) {
  Rig rig({.gpus = "1x24GiB,checkpoints=no", .config = kRoom});
  const auto refused = rig.start_refused({"--policy", "las"});
  EXPECT_EQ(refused.exit_code, test::kFailed);
  EXPECT_THAT(refused.err,
              HasSubstr("policy las preempts, and this machine cannot suspend jobs: the driver "
                        "does not support checkpoints on this machine; say --preempt-by restart"));
  rig.start({"--policy", "las", "--preempt-by", "restart"});
  const int id = rig.submit(test::kUntilGo);
  rig.wait_for(id, "running");
  const auto answer = ask(rig, id, "suspend");
  EXPECT_EQ(answer.status, 409);
  EXPECT_THAT(answer.body["error"].get<std::string>(),
              HasSubstr("cannot be suspended: the driver does not support checkpoints"));
}

}  // namespace
}  // namespace berth
