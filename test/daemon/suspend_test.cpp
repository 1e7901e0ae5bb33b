// Goal: a job that nobody wrote for it is taken off its GPUs and goes on as if nothing had
// happened, at its owner's word or the policy's. Method: a real berthd, and berth-load on emulated
// GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "daemon/cgroup.hpp"
#include "daemon/suspend_rig.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::kGiB;
using test::kMany;
using test::kRoom;
using test::Rig;
using test::SuspendRig;
using test::vram;
using testing::HasSubstr;

TEST(Suspend, AJobLeavesItsGpuAndGoesOnWhereItWas) {
  SuspendRig rig;
  const int id = rig.submit_load();
  rig.suspend(id);
  const Json job = rig.wait_for(id, "suspended");
  EXPECT_THAT(job["reason"].get<std::string>(),
              HasSubstr("suspended by its owner, its 20.2 GiB are in host memory"));
  rig.wait_until_free();
  const std::string before = rig.log(id);
  const int other = rig.submit(test::load("--vram 20G --steps 10"), vram(21));
  EXPECT_EQ(rig.wait_end(other)["state"], "done");
  EXPECT_EQ(rig.log(id), before) << "it is frozen";
  const Json why = rig.request("GET", test::path(id, "/why")).body;
  EXPECT_THAT(why["reason"].get<std::string>(), HasSubstr("suspended by its owner, its 20.2 GiB"));
  rig.resume(id);
  rig.expect_complete(id);
  const Json attempts = rig.job(id)["attempts"];
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0]["note"], "was suspended");
}

TEST(Suspend, TimeInWhichAJobWasSuspendedIsNotOfItsRun) {
  SuspendRig rig;
  const int id = rig.submit_load(20, kMany, 1000);
  EXPECT_TRUE(rig.job(id).contains("ends_by_at"));
  rig.suspend(id);
  rig.wait_for(id, "suspended");
  const Json suspended = rig.job(id);
  const double ran = suspended["run_seconds"];
  EXPECT_FALSE(suspended.contains("ends_by_at"));
  EXPECT_EQ(rig.job(id)["run_seconds"], ran);
  rig.resume(id);
  const Json running = rig.wait_for(id, "running");
  EXPECT_NEAR(running["ends_by_at"],
              rig.job(id)["attempts"][1]["granted_at"].get<double>() + 1000 - ran, 1e-3);
  EXPECT_GE(running["run_seconds"], ran);
  const Json listed = rig.request("GET", "/v1/jobs?brief=true").body["jobs"];
  ASSERT_EQ(listed.size(), 1U) << listed;
  EXPECT_GE(listed[0]["run_seconds"], ran);
  rig.expect_complete(id, kMany);
  const Json job = rig.job(id);
  EXPECT_EQ(job["run_started_at"], job["started_at"]);
  EXPECT_LT(job["attempts"][0]["ended_at"], job["attempts"][1]["granted_at"]);
  double sum = 0;
  for (const Json& attempt : job["attempts"]) {
    sum += attempt["ended_at"].get<double>() - attempt["started_at"].get<double>();
  }
  EXPECT_NEAR(job["run_seconds"], sum, 1e-3);
  EXPECT_EQ(job["attempts"][0]["outcome"], Json());
}

TEST(Suspend, AProgramThatIsNamedAsAServerOfMpsIsSuspendedLikeAnyOther) {
  SuspendRig rig;
  const std::string program = test::program("berth-load").string();
  const std::string name = rig.folder() / "nvidia-cuda-mps-server";
  std::filesystem::create_symlink(program, name);
  std::string words = test::load("--vram 20G --steps 100000 --step-ms 5 --report 1");
  ASSERT_TRUE(words.starts_with(program)) << words;
  const int id = rig.submit(words.replace(0, program.size(), name), vram(21));
  eventually("it holds memory", [&] { return rig.used() > 10 * kGiB; });
  rig.suspend(id);
  rig.wait_for(id, "suspended");
  rig.wait_until_free();
  rig.request("POST", test::path(id, "/cancel"));
  const Json ended = rig.wait_end(id);
  EXPECT_EQ(ended["state"], "cancelled");
  EXPECT_FALSE(ended.dump().contains("host memory")) << ended.dump();
}

TEST(Suspend, OnlyWhatRunsIsSuspendedAndOnlyWhatItsOwnerSuspendedIsResumed) {
  SuspendRig rig;
  const int id = rig.submit_load();
  const int queued = rig.submit("true", vram(21));
  EXPECT_THAT(rig.ask(queued, "suspend").body["error"].get<std::string>(),
              HasSubstr("is queued, only a running job can be suspended"));
  EXPECT_THAT(rig.ask(id, "resume").body["error"].get<std::string>(),
              HasSubstr("is running, only a suspended job can be resumed"));
  rig.suspend(id);
  rig.wait_for(id, "suspended");
  EXPECT_THAT(rig.ask(id, "suspend").body["error"].get<std::string>(),
              HasSubstr("is suspended already"));
  EXPECT_THAT(rig.ask(id, "release").body["error"].get<std::string>(),
              HasSubstr("only a held job can be released"));
  rig.resume(id);
  rig.expect_complete(id);
}

TEST(Suspend, AllProcessesOfAJobAreSuspended) {
  SuspendRig rig;
  const std::string one = test::load("--vram 5G --steps 100 --step-ms 10 --report 0");
  const int id = rig.submit(
      one + " & " + one + " & (while [ ! -e go ]; do sleep 0.01; echo x; done) & wait", vram(12));
  eventually("both hold memory", [&] { return rig.used() > 10 * kGiB; });
  rig.suspend(id);
  rig.wait_for(id, "suspended");
  eventually("the memory of both is gone", [&] { return rig.used() == 0; });
  const std::string before = rig.log(id);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(rig.log(id), before) << "the one without a GPU is frozen too";
  rig.resume(id);
  rig.wait_for(id, "running");
  rig.folder().write("go", "");
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
}

TEST(Suspend, AJobGoesOnOnAnotherGpu) {
  SuspendRig rig({.gpus = "2x24GiB"});
  const int id = rig.submit_load();
  const int before = rig.job(id)["gpus"][0].get<int>();
  rig.suspend(id);
  rig.wait_for(id, "suspended");
  std::vector<int> others;
  for (int other = 0; other < 2; ++other) others.push_back(rig.submit(test::kUntilGo, vram(20)));
  for (const int other : others) rig.wait_for(other, "running");
  const auto there = [&](int other) { return rig.job(other)["gpus"][0] != before; };
  const int elsewhere = there(others[0]) ? others[0] : others[1];
  ASSERT_TRUE(there(elsewhere));
  rig.resume(id);
  EXPECT_EQ(rig.request("POST", test::path(elsewhere, "/cancel")).status, 200);
  rig.wait_for(id, "running");
  EXPECT_NE(rig.job(id)["gpus"][0], before);
  rig.expect_complete(id);
}

/// The driver puts memory back on GPUs of the model that it came from alone.
TEST(Suspend, AJobWaitsForAGpuOfItsModelBesideAFreeOneOfAnother) {
  SuspendRig rig({.gpus = "2x24GiB,models=A100+RTX 3090"});
  const int id = rig.submit_load();
  const Json before = rig.job(id)["gpus"];
  rig.suspend(id);
  rig.wait_for(id, "suspended");
  const int there =
      rig.submit(test::kUntilGo, {{"vram_bytes", 20 * kGiB}, {"gpu_indices", before}});
  rig.wait_for(there, "running");
  rig.resume(id);
  const Json why = rig.request("GET", test::path(id, "/why")).body;
  EXPECT_THAT(why.value("reason", ""),
              HasSubstr("; it goes on on A100 alone, where it was suspended; the only GPU that it "
                        "accepts has no room for it"));
  EXPECT_EQ(why["must_end"], Json::array({there})) << why;
  EXPECT_EQ(rig.job(id)["state"], "suspended");
  EXPECT_EQ(rig.request("POST", test::path(there, "/cancel")).status, 200);
  rig.wait_for(id, "running");
  EXPECT_EQ(rig.job(id)["gpus"], before);
  rig.expect_complete(id);
}

/// The second program takes the GPU that CUDA_VISIBLE_DEVICES has, which the job still has then.
TEST(Suspend, AScriptGoesOnOnItsOwnGpuAndSoDoesItsNextProgram) {
  SuspendRig rig({.gpus = "2x24GiB"});
  const int id = rig.submit(test::load("--vram 8G --steps 0 --step-ms 5") + " & " +
                                "while [ ! -e go ]; do sleep 0.01; done; kill $!; " +
                                test::load("--vram 8G --steps 2 --step-ms 5") + "; echo both",
                            vram(20));
  eventually("the first holds its memory", [&] { return rig.used() > 7 * kGiB; });
  const Json before = rig.job(id)["gpus"];
  rig.suspend(id);
  rig.wait_for(id, "suspended");
  const int other =
      rig.submit(test::kUntilGo, {{"gpu_indices", before}, {"vram_bytes", 20 * kGiB}});
  rig.wait_for(other, "running");
  rig.resume(id);
  EXPECT_EQ(rig.wait_end(rig.submit("true", vram(1)))["state"], "done");
  EXPECT_EQ(rig.job(id)["state"], "suspended") << "though the other GPU is free";
  EXPECT_THAT(rig.job(id)["reason_brief"].get<std::string>(),
              testing::StartsWith("was resumed and waits for its place; "));
  EXPECT_EQ(rig.request("POST", test::path(other, "/cancel")).status, 200);
  rig.wait_for(id, "running");
  EXPECT_EQ(rig.job(id)["gpus"], before);
  rig.folder().write("go", "");
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
  EXPECT_THAT(rig.log(id), HasSubstr("both\n"));
}

TEST(Suspend, ASuspendedJobCanBeCancelled) {
  SuspendRig rig;
  const int id = rig.submit_load();
  const pid_t shim = rig.shim_of(id);
  rig.suspend(id);
  rig.wait_for(id, "suspended");
  const double ran = rig.job(id)["run_seconds"];
  const Json listed = rig.request("GET", "/v1/jobs?brief=true").body["jobs"];
  ASSERT_EQ(listed.size(), 1U) << listed;
  EXPECT_EQ(listed[0]["run_seconds"], ran);
  EXPECT_EQ(rig.request("POST", test::path(id, "/cancel")).status, 200);
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["state"], "cancelled");
  ASSERT_EQ(job["attempts"].size(), 1U);
  EXPECT_EQ(job["attempts"][0]["outcome"], "cancelled");
  const Json& attempt = job["attempts"][0];
  EXPECT_LT(attempt["ended_at"], job["ended_at"]) << "it left its GPUs before";
  EXPECT_NEAR(job["run_seconds"],
              attempt["ended_at"].get<double>() - attempt["started_at"].get<double>(), 1e-3);
  eventually("its processes are gone", [&] { return !test::is_alive(shim); });
  EXPECT_TRUE(std::filesystem::is_empty(rig.state() + "/suspended"));
}

TEST(Suspend, AJobThatDoesNotFitIntoHostMemoryRunsOn) {
  SuspendRig rig({.config = "probe = \"100ms\"\nsuspend_host_memory = \"10GiB\"\n"});
  const int id = rig.submit_load();
  rig.suspend(id);
  EXPECT_EQ(rig.wait_until_put_back(id),
            "was not suspended: it holds 20.2 GiB of GPU memory, and of suspend_host_memory (10 "
            "GiB) 10 GiB are left");
  rig.expect_complete(id);
}

TEST(Suspend, AJobInACgroupIsFrozenByIt) {
  const test::Cgroup cgroup;
  if (cgroup.path().empty()) GTEST_SKIP() << "no cgroup v2 can be made here";
  SuspendRig rig({.config = kRoom + ("cgroup = \"" + cgroup.path() + "\"\n")});
  const int id = rig.submit_suspended();
  const auto groups = cgroup.groups();
  ASSERT_EQ(groups.size(), 1U);
  const auto is = [&](const char* state) {
    return test::slurp(groups[0] + "/cgroup.events").find(state) != std::string::npos;
  };
  eventually("the kernel has frozen it", [&] { return is("frozen 1"); });
  rig.resume(id);
  rig.wait_for(id, "running");
  eventually("it is thawed", [&] { return is("frozen 0"); });
  rig.expect_complete(id);
  eventually("its cgroup is gone", [&] { return cgroup.groups().empty(); });
}

// ---- Preemption ------------------------------------------------------------------------------

constexpr const char* kShortestFirst = "policy = \"srtf\"\n";
constexpr int kHour = 3600;
constexpr int kMinute = 60;

TEST(SuspendPreempts, ALongJobMakesRoomForABurstOfShortsAndLosesNothing) {
  SuspendRig rig({.config = kRoom + std::string(kShortestFirst)});
  const int slow = rig.submit_load(20, kMany, kHour);
  std::vector<int> quick;
  for (int i = 0; i < 3; ++i) {
    quick.push_back(
        rig.submit(test::load("--vram 20G --steps 20 --step-ms 10"), vram(21, kMinute)));
  }
  EXPECT_THAT(rig.wait_for(slow, "suspended")["reason"].get<std::string>(),
              HasSubstr("suspended by the scheduler, its 20.2 GiB are in host memory"));
  for (const int id : quick) EXPECT_EQ(rig.wait_end(id)["state"], "done");
  rig.expect_complete(slow, kMany);
}

TEST(SuspendPreempts, AnOwnerCanKeepWhatTheSchedulerSuspended) {
  SuspendRig rig({.config = kRoom + std::string(kShortestFirst)});
  const int slow = rig.submit_load(20, kMany, kHour);
  const int quick = rig.submit(test::kUntilGo, vram(21, kMinute));
  rig.wait_for(slow, "suspended");
  EXPECT_THAT(rig.ask(slow, "resume").body["error"].get<std::string>(),
              HasSubstr("was suspended by the scheduler"));
  rig.suspend(slow);
  EXPECT_THAT(rig.job(slow)["reason"].get<std::string>(), HasSubstr("suspended by its owner"));
  rig.resume(slow);
  EXPECT_THAT(rig.job(slow)["reason"].get<std::string>(),
              testing::StartsWith("was resumed and waits for its place"));
  rig.suspend(slow);
  rig.folder().write("go", "");
  rig.wait_end(quick);
  EXPECT_THAT(rig.job(slow)["reason"].get<std::string>(), HasSubstr("suspended by its owner"));
  rig.resume(slow);
  rig.expect_complete(slow, kMany);
}

TEST(SuspendPreempts, APolicyThatPreemptsIsRefusedWhereItsJobsShareByMps) {
  Rig rig({.gpus = "1x24GiB", .config = kRoom});
  const auto refused = rig.start_refused({"--policy", "las+mps"});
  EXPECT_EQ(refused.exit_code, test::kFailed);
  EXPECT_THAT(refused.err, HasSubstr("policy las+mps preempts, and jobs that share GPUs through "
                                     "MPS, as its gate mps has them do, cannot be suspended"));
  rig.start({"--policy", "las+mps", "--preempt-by", "restart"});
}

TEST(SuspendPreempts, APolicyThatPreemptsIsRefusedWhereNothingCanBeSuspended) {
  Rig rig({.gpus = "1x24GiB,checkpoints=no", .config = kRoom});
  const auto refused = rig.start_refused({"--policy", "las"});
  EXPECT_EQ(refused.exit_code, test::kFailed);
  EXPECT_THAT(refused.err,
              HasSubstr("policy las preempts, and this machine cannot suspend jobs: the driver "
                        "does not support checkpoints on this machine; say --preempt-by signal"));
  rig.start({"--policy", "las", "--preempt-by", "restart"});
  const int id = rig.submit(test::kUntilGo);
  rig.wait_for(id, "running");
  const auto answer = rig.request("POST", test::path(id, "/suspend"));
  EXPECT_EQ(answer.status, 409);
  EXPECT_THAT(answer.body["error"].get<std::string>(),
              HasSubstr("cannot be suspended: the driver does not support checkpoints"));
}

// ---- Programs that do not bear it ------------------------------------------------------------

TEST(SuspendSpoils, AJobThatFailsAsItGoesOnBeginsAgainAndIsLeftAlone) {
  SuspendRig rig;
  const std::string frail = "trap 'exit 3' CONT; echo up; while [ ! -e go ]; do sleep 0.05; done";
  const int id = rig.submit(frail);
  eventually("it is up", [&] { return rig.log(id).contains("up"); });
  rig.suspend(id);
  rig.wait_for(id, "suspended");
  rig.resume(id);
  eventually("it begins again", [&] { return rig.job(id)["attempts"].size() == 3; });
  const Json job = rig.wait_for(id, "running");
  EXPECT_EQ(job["suspend"], false);
  EXPECT_EQ(job["attempts"][1]["outcome"], "failed");
  EXPECT_THAT(job["attempts"][1]["note"].get<std::string>(),
              HasSubstr("after it was resumed: it begins again"));
  EXPECT_EQ(rig.job(rig.submit(frail))["suspend"], false) << "its program is left alone";
  EXPECT_EQ(rig.job(rig.submit(frail, {{"suspend", true}}))["suspend"], true);
  EXPECT_FALSE(rig.job(rig.submit("true")).contains("suspend")) << "another program";
  rig.folder().write("go", "");
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
}

// ---- The policy that berthd chooses ----------------------------------------------------------

std::string policy_of(Rig& rig) {
  return rig.request("GET", "/v1/version").body["policy"].get<std::string>();
}

TEST(DefaultPolicy, SuspendsWhereJobsCanBeSuspended) {
  Rig rig({.config = "[policy.turns]\nquantum = \"1m\"\n"});
  rig.start();
  EXPECT_EQ(policy_of(rig), "turns:quantum=1m");
  EXPECT_THAT(rig.request("GET", "/v1/doctor").body.dump(),
              HasSubstr("(auto, as jobs can be suspended, to host memory for what the GPUs hold"));
}

TEST(DefaultPolicy, SuspendsNobodyWithoutHostMemoryForWhatTheGpusHold) {
  Rig rig({.config = "suspend_host_memory = \"10GiB\"\n"});
  rig.start();
  EXPECT_EQ(policy_of(rig), "headroom");
  EXPECT_THAT(rig.request("GET", "/v1/doctor").body.dump(),
              HasSubstr("(auto, as suspended jobs may have 10 GiB of host memory, less than the "));
}

TEST(DefaultPolicy, SuspendsNobodyWhereTheDriverOrTheAdministratorSaysSo) {
  Rig old({.gpus = "1x24GiB,checkpoints=no"});
  old.start();
  EXPECT_EQ(policy_of(old), "headroom");
  Rig other({.config = "preempt_by = \"signal\"\n"});
  other.start();
  EXPECT_EQ(policy_of(other), "headroom");
}

TEST(DefaultPolicy, LetsSmallJobsShareAtOnce) {
  Rig rig({.gpus = "2x24GiB"});
  rig.start();
  std::vector<int> ids;
  for (int i = 0; i < 8; ++i) ids.push_back(rig.submit(test::kUntilGo, vram(5)));
  for (const int id : ids) rig.wait_for(id, "running");
  rig.folder().write("go", "");
  for (const int id : ids) rig.wait_end(id);
}

TEST(DefaultPolicy, SuspendsNoServiceNoGangAndNobodyWhoDoesNotWantTo) {
  Rig rig({.gpus = "2x24GiB"});
  rig.start();
  const auto says = [&](const Json& wish) {
    const Json job = rig.job(rig.submit("true", wish));
    return job.contains("suspend") ? job["suspend"].dump() : "nothing";
  };
  EXPECT_EQ(says(Json::object()), "nothing");
  EXPECT_EQ(says({{"class", "service"}}), "false");
  EXPECT_EQ(says({{"gpus", 2}}), "false");
  EXPECT_EQ(says({{"gpu_processes", 2}}), "false");
  EXPECT_EQ(says({{"gpus", 2}, {"suspend", true}}), "true");
  EXPECT_EQ(says({{"suspend", false}}), "false");
}

}  // namespace
}  // namespace berth
