// Goal: a job gets what it asked for, sees what it should, and its end is told right.
// Method: a real berthd on emulated GPUs, real jobs, berth-load where GPU memory matters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <thread>

#include "daemon/cgroup.hpp"
#include "daemon/rig.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::kGiB;
using test::load;
using test::path;
using test::Rig;
using test::slurp;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class Jobs : public testing::Test {
 protected:
  void SetUp() override { rig_.start(); }
  Rig rig_;
};

TEST_F(Jobs, AtMostTwoOfTenGiBShareAGpuOfTwentyFour) {
  Rig rig({.flags = {"--policy", "fifo-skip"}});  // the default waits before a job joins another
  rig.start();
  // Each job counts the jobs on its GPU, by files it makes and removes.
  const std::string count = "set -- on.$CUDA_VISIBLE_DEVICES.*; echo $#; ";
  const std::string script = "touch on.$CUDA_VISIBLE_DEVICES.$BERTH_JOB_ID; " + count +
                             load("--vram 9G --steps 3 --step-ms 20 --duty 0.2") +
                             " >/dev/null || exit 9; " + count +
                             "rm on.$CUDA_VISIBLE_DEVICES.$BERTH_JOB_ID";
  std::vector<int> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(rig.submit(script, {{"vram_bytes", 10 * kGiB}}));
  int most = 0;
  for (const int id : ids) {
    const Json job = rig.wait_end(id);
    EXPECT_EQ(job["state"], "done") << rig.log(id);
    for (const char c : rig.log(id)) {
      if (c >= '0' && c <= '9') most = std::max(most, c - '0');
    }
  }
  EXPECT_EQ(most, 2);
}

TEST_F(Jobs, SeeTheirPlaceAndTheirRequest) {
  const int id = rig_.submit(
      "echo $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER $BERTH_JOB_ID $BERTH_ATTEMPT "
      "$BERTH_VRAM_BYTES $PYTHONUNBUFFERED; pwd; umask",
      {{"gpus", 2}, {"umask", 077}});
  EXPECT_EQ(rig_.wait_end(id)["state"], "done");
  EXPECT_EQ(rig_.log(id), "0,1 PCI_BUS_ID " + std::to_string(id) + " 1 " + std::to_string(kGiB) +
                              " 1\n" + rig_.folder().path().string() + "\n0077\n");
}

TEST_F(Jobs, GetTheGpuTheyNameAndWaitForItBesideAFreeOne) {
  const int first = rig_.submit(test::kUntilGo, {{"gpu_indices", {1}}, {"exclusive", true}});
  EXPECT_EQ(rig_.wait_for(first, "running")["gpus"], Json({1}));
  const int waits = rig_.submit("echo $CUDA_VISIBLE_DEVICES", {{"gpu_indices", {1}}});
  const int other = rig_.submit("true");
  EXPECT_EQ(rig_.wait_end(other)["gpus"], Json::array({0}));
  EXPECT_THAT(rig_.job(waits)["reason"].get<std::string>(),
              AllOf(HasSubstr("GPU 1"), Not(HasSubstr("GPU 0"))));
  rig_.kill();
  rig_.start();
  EXPECT_EQ(rig_.job(waits)["gpu_indices"], Json({1}));
  EXPECT_EQ(rig_.job(waits)["state"], "queued");
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(waits)["state"], "done");
  EXPECT_EQ(rig_.log(waits), "1\n");
  const Rig::Answer refused = rig_.request("POST", "/v1/jobs",
                                           {{"command", {"true"}},
                                            {"directory", "/"},
                                            {"environment", Json::array()},
                                            {"gpu_indices", {0, 2}}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body["error"], "gpu_indices: GPU 2: this machine has 2, the last is GPU 1");
}

TEST_F(Jobs, WithoutGpusSeeNone) {
  const int id =
      rig_.submit("echo [$CUDA_VISIBLE_DEVICES]", {{"gpus", 0}, {"vram_bytes", nullptr}});
  EXPECT_EQ(rig_.wait_end(id)["state"], "done");
  EXPECT_EQ(rig_.log(id), "[]\n");
}

TEST_F(Jobs, SeeBerthsVariablesOnce) {
  const int id = rig_.submit(test::Wish{{"env"},
                                        {{"environment",
                                          {"PATH=/bin:/usr/bin", "CUDA_VISIBLE_DEVICES=7", "A=1",
                                           "A=2", "CUDA_VISIBLE_DEVICES=8"}}}});
  EXPECT_EQ(rig_.wait_end(id)["state"], "done");
  const std::string log = "\n" + rig_.log(id);
  EXPECT_THAT(log, AllOf(HasSubstr("\nCUDA_VISIBLE_DEVICES=0\n"), HasSubstr("\nA=1\n")));
  EXPECT_THAT(log, AllOf(Not(HasSubstr("=7\n")), Not(HasSubstr("=8\n")), Not(HasSubstr("A=2"))));
}

TEST(NoGpus, AreNoMoreThanTheCores) {
  Rig rig({.config = "probe = \"100ms\"\ncores = 2\n"});
  rig.start();
  const Json none = {{"gpus", 0}, {"vram_bytes", nullptr}};
  Json half = none;
  half["cpus"] = 0.5;
  const int first = rig.submit("sleep 1000", none);
  rig.wait_for(first, "running");
  rig.wait_for(rig.submit("sleep 1000", half), "running");
  const int waits = rig.submit("true", none);
  const std::string reason = rig.job(waits)["reason"];
  EXPECT_THAT(reason, HasSubstr("needs no GPU; needs 1 of 2 cores, 0.5 are free"));
  const Json why = rig.request("GET", "/v1/jobs/" + std::to_string(waits) + "/why").body;
  EXPECT_EQ(why["reason"], reason);
  EXPECT_EQ(why["why"], "capacity");
  rig.wait_for(rig.submit("sleep 1000", half), "running");
  rig.request("POST", "/v1/jobs/" + std::to_string(first) + "/cancel");
  EXPECT_EQ(rig.wait_end(waits)["state"], "done");
}

TEST_F(Jobs, KeepTheirOwnSettings) {
  const int id = rig_.submit(test::Wish{
      {"sh", "-c", "echo $PYTHONUNBUFFERED $LD_LIBRARY_PATH"},
      {{"environment", {"PATH=/bin:/usr/bin", "PYTHONUNBUFFERED=0", "LD_LIBRARY_PATH=/mine"}}}});
  rig_.wait_end(id);
  EXPECT_THAT(rig_.log(id), testing::StartsWith("0 "));
  EXPECT_THAT(rig_.log(id), testing::EndsWith(":/mine\n"));
}

TEST_F(Jobs, EndsAreTold) {
  const std::map<std::string, std::pair<std::string, int>> wanted = {
      {"exit 0", {"done", 0}},         {"exit 3", {"failed", 3}},        {"exit 77", {"oom", 77}},
      {"kill -9 $$", {"failed", 137}}, {"kill -15 $$", {"failed", 143}},
  };
  for (const auto& [script, end] : wanted) {
    const Json job = rig_.wait_end(rig_.submit(script));
    EXPECT_EQ(job["state"], end.first) << script;
    EXPECT_EQ(job["exit_code"], end.second) << script;
  }
}

TEST_F(Jobs, ThatCannotBeRunSayWhy) {
  const int missing = rig_.submit(test::Wish{{"no-such-program"}, Json::object()});
  EXPECT_EQ(rig_.wait_end(missing)["exit_code"], 127);
  EXPECT_THAT(rig_.log(missing), HasSubstr("no-such-program"));
  const int folder = rig_.submit(test::Wish{{"/tmp"}, Json::object()});
  EXPECT_EQ(rig_.wait_end(folder)["exit_code"], 126);
  const int gone = rig_.submit(test::Wish{{"true"}, {{"directory", "/no/such/folder"}}});
  EXPECT_EQ(rig_.wait_end(gone)["exit_code"], 125);
  EXPECT_THAT(rig_.log(gone), HasSubstr("/no/such/folder"));
}

TEST_F(Jobs, OutOfGpuMemoryIsAnOutcome) {
  const int id = rig_.submit(load("--vram 30G --steps 1"), {{"vram_bytes", 20 * kGiB}});
  const Json job = rig_.wait_end(id);
  EXPECT_EQ(job["state"], "oom") << rig_.log(id);
  EXPECT_EQ(job["exit_code"], 77);
}

TEST_F(Jobs, OutOfGpuMemoryIsReadWhereTheirErrorsGo) {
  const int id = rig_.submit(
      "exec 2>err; echo 'torch.OutOfMemoryError: CUDA out of memory.' >&2; sleep 100 & exit 1",
      {{"vram_bytes", 20 * kGiB}, {"directory", rig_.folder().path().string()}});
  EXPECT_EQ(rig_.wait_end(id)["state"], "oom") << rig_.log(id);
}

TEST_F(Jobs, ThatRanOutOfGpuMemoryRunAgainWithMoreOfIt) {
  const std::string script = "echo $BERTH_VRAM_BYTES; exit 77";
  const int id = rig_.submit(script, {{"vram_bytes", 4 * kGiB}, {"retries", 2}});
  const Json job = rig_.wait_end(id);
  EXPECT_EQ(job["state"], "oom");
  EXPECT_EQ(job["attempts"].size(), 3U);
  EXPECT_EQ(rig_.log(id), "4294967296\n6442450944\n9663676416\n");
}

TEST_F(Jobs, EndAtTheirTimeLimit) {
  const int id = rig_.submit("echo on; sleep 1000", {{"time_limit_seconds", 0.2}});
  const Json job = rig_.wait_end(id);
  EXPECT_EQ(job["state"], "timeout");
  EXPECT_EQ(job["exit_code"], 124);
  EXPECT_THAT(rig_.log(id), MatchesRegex("on\nberth: \\*\\*\\* JOB " + std::to_string(id) +
                                         " CANCELLED AT .* DUE TO TIME LIMIT \\*\\*\\*\n"));
}

TEST_F(Jobs, AreCancelledQueuedAndRunning) {
  const Json whole = {{"gpus", 2}, {"exclusive", true}};
  const int runs = rig_.submit("sleep 1000", whole);
  const int waits = rig_.submit("echo never", whole);
  rig_.wait_for(runs, "running");
  EXPECT_EQ(rig_.request("POST", path(waits) + "/cancel").body["state"], "cancelled");
  EXPECT_EQ(rig_.request("POST", path(waits) + "/cancel").status, 409);
  EXPECT_EQ(rig_.request("POST", path(runs) + "/cancel").body["state"], "stopping");
  const Json cancelled = rig_.wait_end(runs);
  EXPECT_EQ(cancelled["state"], "cancelled");
  EXPECT_EQ(cancelled["attempts"][0]["outcome"], "cancelled") << "whatever its process returned";
  EXPECT_EQ(cancelled["cancelled_by"], ::getuid());
  EXPECT_EQ(rig_.job(waits)["exit_code"], 137);
  EXPECT_TRUE(rig_.job(waits)["attempts"].empty());
}

TEST_F(Jobs, ThatIgnoreSigtermAreKilledAfterTheGrace) {
  const int id = rig_.submit("trap '' TERM; echo on; while :; do sleep 0.01; done");
  eventually("it runs", [&] { return rig_.log(id) == "on\n"; });
  rig_.request("POST", path(id) + "/cancel");
  EXPECT_EQ(rig_.wait_end(id)["state"], "cancelled");
}

TEST_F(Jobs, AllOfAUserAreCancelled) {
  std::vector<int> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(rig_.submit("sleep 1000", {{"vram_bytes", 20 * kGiB}}));
  const int held = rig_.submit("true", {{"held", true}});
  const auto answer = rig_.request("POST", "/v1/cancel", Json::object());
  EXPECT_EQ(answer.body["jobs"].size(), 7U);
  for (const int id : ids) EXPECT_EQ(rig_.wait_end(id)["state"], "cancelled");
  EXPECT_EQ(rig_.wait_end(held)["state"], "cancelled");
}

/// berthd itself opens as many as it may.
TEST(JobLimits, OpenFilesAreThoseBerthdWasGiven) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 512, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  Rig rig;
  rig.start();
  ::setrlimit(RLIMIT_NOFILE, &before);
  const int id = rig.submit("ulimit -Sn");
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
  EXPECT_EQ(rig.log(id), "512\n");
  rlimit daemons{};
  const pid_t pid = rig.request("GET", "/v1/version").body["pid"];
  ASSERT_EQ(::prlimit(pid, RLIMIT_NOFILE, nullptr, &daemons), 0);
  EXPECT_EQ(daemons.rlim_cur, before.rlim_max);
}

TEST_F(Jobs, WaitForTheirOwnersRelease) {
  const int id = rig_.submit("true", {{"held", true}});
  EXPECT_EQ(rig_.job(id)["state"], "held");
  EXPECT_EQ(rig_.request("POST", path(id) + "/hold").status, 409);
  EXPECT_EQ(rig_.request("POST", path(id) + "/release").status, 200);
  EXPECT_EQ(rig_.wait_end(id)["state"], "done");
}

TEST_F(Jobs, ThatCanNeverFitAreRefusedWithTheLimit) {
  const auto ask = [&](const Json& more) {
    Json body = {{"command", {"true"}}, {"directory", "/"}, {"environment", Json::array()}};
    body.update(more);
    return rig_.request("POST", "/v1/jobs", body);
  };
  const auto gpus = ask({{"gpus", 9}});
  EXPECT_EQ(gpus.status, 422);
  EXPECT_EQ(gpus.body["error"], "asks 9 GPUs, the cluster has 2");
  const auto vram = ask({{"vram_bytes", 30 * kGiB}});
  EXPECT_EQ(vram.status, 422);
  EXPECT_THAT(vram.body["error"].get<std::string>(), HasSubstr("the most a GPU here can give is"));
  EXPECT_EQ(rig_.request("GET", "/v1/jobs?all=true").body["jobs"].size(), 0U);
}

TEST_F(Jobs, SayWhyTheyWait) {
  const int runs = rig_.submit("sleep 1000", {{"gpus", 2}, {"vram_bytes", 20 * kGiB}});
  rig_.wait_for(runs, "running");
  const int waits = rig_.submit("true", {{"vram_bytes", 10 * kGiB}});
  EXPECT_THAT(rig_.job(waits)["reason"].get<std::string>(),
              HasSubstr("held by job " + std::to_string(runs)));
}

TEST_F(Jobs, ReportWhatTheyLike) {
  const std::string tool = (test::source_dir() / "examples/report").string();
  const int id = rig_.submit("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + tool +
                             " python3 -c 'import berth_report as b; b.report(\"step\", 7); "
                             "b.report(\"loss\", 0.25)'; sleep 1000");
  eventually("the report is there", [&] { return rig_.job(id)["reports"].size() == 2; });
  EXPECT_EQ(rig_.job(id)["reports"]["step"], 7);
  EXPECT_EQ(rig_.job(id)["reports"]["loss"], 0.25);
}

TEST_F(Jobs, AreFollowedByTheirLog) {
  const int id = rig_.submit("echo one; while [ ! -e go ]; do sleep 0.01; done; echo two");
  auto follow = std::jthread([&] {
    eventually("one is there", [&] { return rig_.log(id) == "one\n"; });
    rig_.folder().write("go", "");
  });
  EXPECT_EQ(rig_.text(path(id) + "/log?follow=true"), "one\ntwo\n");
  EXPECT_EQ(rig_.text(path(id) + "/log?offset=4"), "two\n");
}

TEST_F(Jobs, EventsTellEachStateUntilTheEnd) {
  const int id = rig_.submit("true", {{"held", true}});
  auto release = std::jthread([&] { rig_.request("POST", path(id) + "/release"); });
  const std::string events = rig_.text("/v1/events?job=" + std::to_string(id));
  EXPECT_THAT(events, HasSubstr("event: job\ndata: {"));
  EXPECT_THAT(events, HasSubstr("\"state\":\"done\""));
}

/// A process that berth did not start, with memory on an emulated GPU.
class Outsider {
 public:
  Outsider(const Rig& rig, const std::string& arguments) {
    std::string script;
    for (const std::string& line : rig.outside_environment()) script += line + "\n";
    script += "exec " + load(arguments) + " >/dev/null 2>&1";
    pid_ = fork();
    if (pid_ == 0) {
      execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
      _exit(127);
    }
  }
  ~Outsider() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST_F(Jobs, MakeRoomForAProcessFromOutside) {
  {
    const Outsider outsider(rig_, "--vram 8G --steps 100000 --step-ms 50 --duty 0.1");
    eventually("it is named", [&] {
      const Json gpu = rig_.request("GET", "/v1/gpus").body["gpus"][0];
      return !gpu["foreign"].empty() && gpu["foreign"][0]["pid"] == outsider.pid() &&
             gpu["foreign"][0]["name"] == "berth-load" && gpu["foreign_bytes"] >= 8 * kGiB;
    });
    const int large =
        rig_.submit("echo $CUDA_VISIBLE_DEVICES; sleep 1000", {{"vram_bytes", 20 * kGiB}});
    const int small =
        rig_.submit("echo $CUDA_VISIBLE_DEVICES; sleep 1000", {{"vram_bytes", 12 * kGiB}});
    const int waits = rig_.submit("echo in", {{"vram_bytes", 14 * kGiB}});
    rig_.wait_for(large, "running");
    rig_.wait_for(small, "running");
    eventually("they say where",
               [&] { return !rig_.log(large).empty() && !rig_.log(small).empty(); });
    EXPECT_EQ(rig_.log(large), "1\n");
    EXPECT_EQ(rig_.log(small), "0\n");
    EXPECT_EQ(rig_.job(waits)["state"], "queued");
    rig_.request("POST", path(small) + "/cancel");
    rig_.wait_end(small);
    EXPECT_EQ(rig_.wait_end(waits)["state"], "done");
  }
  eventually("its memory is back",
             [&] { return rig_.request("GET", "/v1/gpus").body["gpus"][0]["foreign_bytes"] == 0; });
}

TEST_F(Jobs, AreToldOfTheContainerThatTakesTheirRoom) {
  const test::Cgroup cgroup;
  if (cgroup.path().empty()) GTEST_SKIP() << "no cgroup v2 can be made here";
  const std::string id(64, 'b');
  const std::string group = cgroup.path() + "/docker-" + id + ".scope";
  ASSERT_EQ(::mkdir(group.c_str(), 0755), 0);
  {
    const Outsider outsider(rig_, "--vram 8G --steps 100000 --step-ms 50 --duty 0.1");
    std::ofstream(group + "/cgroup.procs") << outsider.pid();
    eventually("it is named", [&] {
      const Json gpu = rig_.request("GET", "/v1/gpus").body["gpus"][0];
      return gpu["foreign_bytes"] >= 8 * kGiB && !gpu["foreign"].empty() &&
             gpu["foreign"][0].value("in", "") == "docker bbbbbbbbbbbb";
    });
    const int waits = rig_.submit("true", {{"vram_bytes", 20 * kGiB}, {"gpu_indices", {0}}});
    const Json why = rig_.request("GET", path(waits, "/why")).body;
    ASSERT_EQ(why["lacking"].size(), 1U) << why;
    EXPECT_THAT(why["lacking"][0]["foreign"].get<std::string>(),
                AllOf(HasSubstr("berth-load of "), HasSubstr(" in docker bbbbbbbbbbbb, 8.")));
  }
  eventually("it has left", [&] { return slurp(group + "/cgroup.procs").empty(); });
}

TEST_F(Jobs, GetNothingOnALostGpu) {
  const std::string emu = test::program("berth-emu").string();
  const int runs = rig_.submit(load("--vram 1G --steps 100000 --step-ms 20"), {{"gpus", 1}});
  rig_.wait_for(runs, "running");
  const std::size_t gpu = rig_.job(runs)["gpus"][0];
  const std::string set = " " + rig_.state() + "/emulated-gpus --gpu " + std::to_string(gpu);
  ASSERT_EQ(std::system((emu + " xid" + set + " --xid 79 >/dev/null").c_str()), 0);
  eventually("it is unhealthy",
             [&] { return rig_.request("GET", "/v1/gpus").body["gpus"][gpu]["healthy"] == false; });
  rig_.wait_end(runs);
  const int next = rig_.submit("echo $CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(rig_.wait_end(next)["state"], "done");
  EXPECT_EQ(rig_.log(next), std::to_string(1 - gpu) + "\n");
}

}  // namespace
}  // namespace berth
