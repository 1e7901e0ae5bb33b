// Goal: the end of a daemon, by order or by force, is a non-event for jobs; the end of a shim is
// not, and is told. Method: a real berthd on emulated GPUs, stopped, killed and started again
// around real jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "daemon/rig.hpp"
#include "journal/store.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::Rig;
using testing::HasSubstr;

/// Goes on until the test makes the file `NAME` in the rig's folder.
std::string until(const std::string& name) {
  return "while [ ! -e " + name + " ]; do sleep 0.01; done; ";
}

struct Family {
  int id;
  pid_t child;
};

/// A running job with a process that left its session.
Family submit_with_grandchild(Rig& rig) {
  const int id = rig.submit("setsid sleep 1000 & echo $! > child; sleep 1000");
  rig.wait_for(id, "running");
  pid_t child = 0;
  eventually("the grandchild runs", [&] {
    std::ifstream(rig.folder() / "child") >> child;
    return child > 0;
  });
  return {id, child};
}

TEST(Restart, JobsGoOnAfterSigterm) {
  Rig rig;
  rig.start();
  const int id = rig.submit("echo before; " + until("go") + "echo after; exit 5");
  rig.wait_for(id, "running");
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(rig.stop(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
  rig.start();
  EXPECT_EQ(rig.job(id)["state"], "running");
  rig.folder().write("go", "");
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["state"], "failed");
  EXPECT_EQ(job["exit_code"], 5);
  EXPECT_EQ(job["attempts"].size(), 1U);
  EXPECT_EQ(rig.log(id), "before\nafter\n");
}

TEST(Restart, AnEndWhileNobodyLooksIsKnown) {
  Rig rig;
  rig.start();
  const int id = rig.submit(until("go") + "echo out; exit 3");
  rig.wait_for(id, "running");
  const pid_t shim = rig.shim_of(id);
  rig.kill();
  rig.folder().write("go", "");
  eventually("the shim ends", [&] { return !test::is_alive(shim); });
  const std::string record =
      test::read_file(rig.state() + "/attempts/" + std::to_string(id) + ".1");
  const double ended = std::stod(record.substr(record.rfind(" at ") + 4)) / 1e6;
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch());
  };
  eventually("some time goes by", [&] { return now().count() > ended + 1; });
  rig.start();
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["state"], "failed");
  EXPECT_EQ(job["exit_code"], 3);
  EXPECT_NEAR(double(job["ended_at"]), ended, 0.2) << "not when it was noticed";
  EXPECT_NEAR(double(job["attempts"][0]["ended_at"]), ended, 0.2);
  EXPECT_EQ(rig.log(id), "out\n");
}

TEST(Restart, TheQueueComesBack) {
  Rig rig;
  rig.start();
  const int first = rig.submit(until("go"), {{"gpus", 2}, {"exclusive", true}});
  const int second = rig.submit("echo second", {{"gpus", 2}, {"exclusive", true}});
  const int held = rig.submit("echo held", {{"held", true}});
  rig.wait_for(first, "running");
  rig.kill();
  rig.start();
  EXPECT_EQ(rig.job(second)["state"], "queued");
  EXPECT_EQ(rig.job(held)["state"], "held");
  rig.folder().write("go", "");
  EXPECT_EQ(rig.wait_end(first)["state"], "done");
  EXPECT_EQ(rig.wait_end(second)["state"], "done");
  EXPECT_EQ(rig.request("POST", "/v1/jobs/" + std::to_string(held) + "/release").status, 200);
  EXPECT_EQ(rig.wait_end(held)["state"], "done");
}

TEST(Restart, ARunTimeThatWasLearnedStays) {
  Rig rig({.config = "probe = \"100ms\"\ngrace = \"500ms\"\nlearn_run_times_after = 1\n"});
  rig.start();
  const int first = rig.submit("exit 0 # seed=1");
  EXPECT_FALSE(rig.job(first).contains("estimate_seconds"));
  const Json ran = rig.wait_end(first);
  const int second = rig.submit("exit 0 # seed=2", {{"held", true}});
  const Json told = rig.job(second);
  EXPECT_EQ(told["estimate_learned_from"], 1);
  EXPECT_NEAR(told["estimate_seconds"],
              double(ran["ended_at"]) - double(ran["attempts"][0]["granted_at"]), 1e-3);
  EXPECT_TRUE(told["time_limit_seconds"].is_null());
  rig.kill();
  rig.start();
  EXPECT_EQ(rig.job(second)["estimate_seconds"], told["estimate_seconds"]);
  EXPECT_EQ(rig.job(second)["estimate_learned_from"], 1);
  const int third = rig.submit("exit 0 # seed=3", {{"held", true}});
  EXPECT_EQ(rig.job(third)["estimate_seconds"], told["estimate_seconds"]) << "known from before";
  const int stated = rig.submit("exit 0 # seed=4", {{"held", true}, {"estimate_seconds", 9}});
  EXPECT_EQ(rig.job(stated)["estimate_seconds"], 9.0);
  EXPECT_FALSE(rig.job(stated).contains("estimate_learned_from"));
}

TEST(Restart, AnAdoptedJobCanBeCancelled) {
  Rig rig;
  rig.start();
  const int id = rig.submit("sleep 1000");
  rig.wait_for(id, "running");
  rig.kill();
  rig.start();
  EXPECT_EQ(rig.request("POST", "/v1/jobs/" + std::to_string(id) + "/cancel").status, 200);
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["state"], "cancelled");
  EXPECT_EQ(job["exit_code"], 137);
}

TEST(Restart, AKilledShimEndsItsJobAndIsTold) {
  Rig rig;
  rig.start();
  const auto [id, child] = submit_with_grandchild(rig);
  kill(rig.shim_of(id), SIGKILL);
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["state"], "lost");
  EXPECT_EQ(job["exit_code"], 125);
  EXPECT_THAT(job["note"].get<std::string>(), HasSubstr("shim died"));
  eventually("the grandchild is gone", [pid = child] { return !test::is_alive(pid); });
  EXPECT_EQ(rig.wait_end(rig.submit("echo next"))["state"], "done");
}

TEST(Restart, AShimKilledWhileNobodyLooksIsTold) {
  Rig rig;
  rig.start();
  const auto [id, child] = submit_with_grandchild(rig);
  const pid_t shim = rig.shim_of(id);
  rig.kill();
  kill(shim, SIGKILL);
  rig.start();
  EXPECT_EQ(rig.wait_end(id)["state"], "lost");
  eventually("the grandchild is gone", [pid = child] { return !test::is_alive(pid); });
}

TEST(Restart, WhatAJobLeavesBehindIsEnded) {
  Rig rig;
  rig.start();
  const int id = rig.submit("setsid sh -c 'trap \"\" TERM; sleep 1000' & echo $! > child; exit 0");
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["state"], "done");
  pid_t child = 0;
  std::ifstream(rig.folder() / "child") >> child;
  ASSERT_GT(child, 0);
  EXPECT_FALSE(test::is_alive(child));
}

TEST(Restart, AJournalOfAnotherSchemaIsRefusedAndItsJobsGoOn) {
  Rig rig;
  rig.start();
  const int id = rig.submit(until("go") + "exit 4");
  const int next = rig.submit("echo next", {{"gpus", 2}, {"exclusive", true}});
  rig.wait_for(id, "running");
  const pid_t shim = rig.shim_of(id);
  EXPECT_EQ(rig.stop(), 0);
  test::set_schema(rig.journal(), journal::kSchema + 16);
  const auto refused = rig.start_refused();
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_THAT(refused.err,
              HasSubstr(rig.journal() + ": schema " + std::to_string(journal::kSchema + 16) +
                        ", this berth reads " + std::to_string(journal::kSchema) +
                        ": start the berth that wrote it, or this one with an empty "
                        "state folder (--state); jobs that run are not touched"));
  EXPECT_TRUE(test::is_alive(shim));
  test::set_schema(rig.journal(), journal::kSchema);
  rig.start();
  EXPECT_EQ(rig.job(id)["state"], "running");
  rig.folder().write("go", "");
  EXPECT_EQ(rig.wait_end(id)["exit_code"], 4);
  EXPECT_EQ(rig.wait_end(next)["state"], "done");
}

TEST(Restart, ASecondDaemonOnOneStateIsRefused) {
  Rig rig;
  rig.start();
  const auto refused = rig.start_refused({"--socket", rig.folder() / "other"});
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_THAT(refused.err, HasSubstr("another berthd uses it"));
  EXPECT_EQ(rig.wait_end(rig.submit("true"))["state"], "done");
}

/// As an administrator has it who tries a backup: its jobs' shims hold the files of the original.
TEST(Restart, ACopiedStateIsRefusedAndItsJobsGoOn) {
  Rig rig;
  rig.start();
  const int job = rig.submit("echo on; exec sleep 1000");
  eventually("it runs", [&] { return rig.log(job) == "on\n"; });
  const std::string copy = rig.folder() / "copy";
  std::filesystem::copy(
      rig.state(), copy,
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::skip_symlinks);
  const auto ran = Rig({.gpus = ""}).start_refused({"--state", copy});
  EXPECT_EQ(ran.exit_code, test::kFailed);
  EXPECT_THAT(ran.err, testing::AllOf(testing::StartsWith("berthd: " + copy +
                                                          "/attempts/1.1: its shim, process " +
                                                          std::to_string(rig.shim_of(job))),
                                      HasSubstr("this state is a copy")));
  EXPECT_EQ(rig.job(job)["state"], "running");
}

TEST(Restart, AnotherPolicyTakesOver) {
  Rig rig;
  rig.start();
  const int id = rig.submit(until("go"), {{"gpus", 2}, {"exclusive", true}});
  const int next = rig.submit("echo next");
  rig.wait_for(id, "running");
  EXPECT_EQ(rig.stop(), 0);
  rig.start({"--policy", "sjf"});
  EXPECT_EQ(rig.request("GET", "/v1/version").body["policy"], "sjf");
  rig.folder().write("go", "");
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
  EXPECT_EQ(rig.wait_end(next)["state"], "done");
}

TEST(Restart, OtherGpusAreTakenOverOnceNoJobIsThere) {
  Rig rig({.gpus = ""});
  rig.start({"--emulate", "2x24GiB"});
  const int id = rig.submit(until("go"));
  const int waits = rig.submit("echo waits", {{"held", true}, {"name", "patient"}});
  rig.wait_for(id, "running");
  EXPECT_EQ(rig.stop(), 0);
  rig.start({"--emulate", "3x24GiB"});
  EXPECT_EQ(rig.request("GET", "/v1/gpus").body["gpus"].size(), 2U) << "its job is there";
  rig.folder().write("go", "");
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
  EXPECT_EQ(rig.stop(), 0);
  rig.start({"--emulate", "3x24GiB"});
  EXPECT_EQ(rig.request("GET", "/v1/gpus").body["gpus"].size(), 3U);
  EXPECT_EQ(rig.job(waits)["state"], "held");
  EXPECT_EQ(rig.job(waits)["name"], "patient");
  EXPECT_EQ(rig.request("POST", "/v1/jobs/" + std::to_string(waits) + "/release").status, 200);
  EXPECT_EQ(rig.wait_end(waits)["state"], "done");
}

/// A machine comes back with a GPU less: it is one that failed.
TEST(Restart, AGpuThatIsGoneIsAFailedOne) {
  Rig rig({.gpus = ""});
  rig.start({"--emulate", "3x24GiB"});
  const auto on = [](int gpu) {
    return Json{{"gpu_indices", Json::array({gpu})}, {"exclusive", true}};
  };
  const int first = rig.submit(until("go"), on(0));
  const int stays = rig.submit(until("go"), on(2));
  rig.wait_for(first, "running");
  rig.wait_for(stays, "running");
  EXPECT_EQ(rig.stop(), 0);
  rig.start({"--emulate", "2x24GiB"});
  Json gpus;
  eventually("its first step is taken", [&] {
    gpus = rig.request("GET", "/v1/gpus").body["gpus"];
    return gpus.size() == 3 && gpus[2]["healthy"] == false;
  });
  EXPECT_EQ(gpus[1]["healthy"], true);
  EXPECT_EQ(gpus[2]["problem"], "gone: the driver lists it no more");
  EXPECT_EQ(gpus[2]["tenants"][0]["job"], stays);
  EXPECT_EQ(rig.job(first)["state"], "running");
  EXPECT_EQ(rig.job(stays)["state"], "running") << "its program may not notice";
  EXPECT_NE(rig.job(stays)["reason"].get<std::string>().find("GPU 2 failed: gone"),
            std::string::npos);
  EXPECT_EQ(rig.wait_end(rig.submit("true"))["gpus"], Json::array({1})) << "where there is one";
  const int wide = rig.submit("true", {{"gpus", 3}});
  rig.folder().write("go", "");
  EXPECT_EQ(rig.wait_end(first)["state"], "done");
  EXPECT_EQ(rig.wait_end(stays)["state"], "done");
  EXPECT_EQ(rig.stop(), 0);
  rig.start({"--emulate", "2x24GiB"});  // job `wide` waits for what is gone
  EXPECT_EQ(rig.request("GET", "/v1/gpus").body["gpus"].size(), 3U);
  EXPECT_EQ(rig.job(wide)["state"], "queued");
  EXPECT_EQ(rig.stop(), 0);
  rig.start({"--emulate", "3x24GiB"});  // it is back, and a look finds it whole
  eventually("it is healthy",
             [&] { return rig.request("GET", "/v1/gpus").body["gpus"][2]["healthy"] == true; });
  EXPECT_EQ(rig.wait_end(wide)["state"], "done");
  EXPECT_EQ(rig.stop(), 0);
  rig.start({"--emulate", "2x24GiB"});  // nothing needs it
  EXPECT_EQ(rig.request("GET", "/v1/gpus").body["gpus"].size(), 2U);
}

/// Its user asked for that.
TEST(Restart, AJobLeavesAGpuThatIsGone) {
  Rig rig({.gpus = ""});
  rig.start({"--emulate", "2x24GiB"});
  const int first = rig.submit(until("go"), {{"exclusive", true}});
  rig.wait_for(first, "running");
  const int id = rig.submit("[ -e began ] && exit 0; touch began; sleep 1000",
                            {{"exclusive", true}, {"requeue_on", Json::array({"gpu-failure"})}});
  rig.wait_for(id, "running");
  eventually("it began", [&] { return std::filesystem::exists(rig.folder() / "began"); });
  EXPECT_EQ(rig.stop(), 0);
  rig.start({"--emulate", "1x24GiB"});
  rig.folder().write("go", "");
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
}

/// Of emulated GPUs too: what uses them keeps them.
TEST(Restart, EmulatedGpusThatAreInUseStay) {
  Rig rig({.gpus = ""});
  rig.start({"--emulate", "2x24GiB"});
  const int id = rig.submit(test::load("--vram 1G --steps 0"), {{"vram_bytes", 2 * test::kGiB}});
  rig.wait_for(id, "running");
  eventually("the job holds memory",
             [&] { return rig.request("GET", "/v1/gpus").body["gpus"][0]["used_bytes"] > 0; });
  EXPECT_EQ(rig.stop(), 0);
  rig.start({"--emulate", "4x12GiB"});
  EXPECT_EQ(rig.request("GET", "/v1/gpus").body["gpus"].size(), 2U);
  EXPECT_EQ(rig.job(id)["state"], "running");
}

}  // namespace
}  // namespace berth
