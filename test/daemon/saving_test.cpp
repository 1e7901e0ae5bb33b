// Goal: a job that saves its own state is told to when it must give way, has the time it asked for,
// and goes on with what it saved; berthd says so, and preempts no other job where it is told that.
// Method: a real berthd under srtf with one emulated GPU, and a shell script that counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "daemon/rig.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::Rig;
using testing::HasSubstr;

const std::string kBySignal =
    "policy = \"srtf\"\npreempt_by = \"signal\"\nprobe = \"100ms\"\ngrace = \"500ms\"\n";
const Json kWhole{{"vram_bytes", nullptr}, {"gpus", 1}};

Json whole(double limit) {
  Json more = kWhole;
  more["time_limit_seconds"] = limit;
  return more;
}

Json saving(double grace) {
  Json more = whole(3600);
  more["on_preempt"] = {{"signal", "USR1"}, {"grace_seconds", grace}};
  return more;
}

/// Counts to 60 in a file beside it, from where the file says; a line of its log for each.
std::string counts_in(const std::string& file) {
  return "n=$(cat " + file + " 2>/dev/null || echo 0); echo attempt $BERTH_ATTEMPT from $n\n" +
         "trap 'echo $n >" + file + "; echo saved $n; exit 0' USR1\n" +
         "while [ $n -lt 60 ]; do n=$((n+1)); echo $n; sleep 0.05; done";
}

TEST(Saving, AJobGoesOnWithWhatItSaved) {
  Rig rig({.gpus = "1x24GiB", .config = kBySignal});
  rig.start();
  const int slow = rig.submit(counts_in(rig.folder() / "count"), saving(60));
  eventually("it counts", [&] { return rig.log(slow).find("\n10\n") != std::string::npos; });
  const int quick = rig.submit("true", whole(60));
  EXPECT_EQ(rig.wait_end(quick)["state"], "done");
  const Json job = rig.wait_end(slow);
  EXPECT_EQ(job["state"], "done") << job;
  EXPECT_EQ(job["on_preempt"], (Json{{"signal", "USR1"}, {"grace_seconds", 60}}));
  ASSERT_EQ(job["attempts"].size(), 2U);
  EXPECT_EQ(job["attempts"][0]["outcome"], "preempted");
  EXPECT_EQ(job["attempts"][0]["note"],
            "preempted by job " + std::to_string(quick) + ", starts again with what it saves");
  std::vector<int> counted;
  std::string from;
  std::istringstream lines(rig.log(slow));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("attempt 2 from ")) from = line.substr(15);
    if (std::isdigit(line[0]) != 0) counted.push_back(std::stoi(line));
  }
  ASSERT_EQ(counted.size(), 60U) << "each number once: " << rig.log(slow);
  for (int n = 1; n <= 60; ++n) EXPECT_EQ(counted[static_cast<std::size_t>(n - 1)], n);
  EXPECT_GE(std::stoi(from), 10);
}

TEST(Saving, ItsTimeIsBounded) {
  Rig rig({.gpus = "1x24GiB", .config = kBySignal});
  rig.start();
  const int slow = rig.submit(
      "trap 'echo told' USR1; trap '' TERM; echo ready; while :; do sleep 0.05; done", saving(0.3));
  eventually("it is ready", [&] { return rig.log(slow).find("ready") != std::string::npos; });
  const int quick = rig.submit("true", whole(60));
  EXPECT_EQ(rig.wait_end(quick)["state"], "done");
  EXPECT_THAT(rig.log(slow), HasSubstr("told"));
  EXPECT_EQ(rig.request("POST", test::path(slow, "/cancel")).status, 200);
}

/// The program of doc/suspend.md.
TEST(Saving, TheExampleDoesWhatItSays) {
  if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "there is no python3";
  Rig rig({.gpus = "1x24GiB", .config = kBySignal});
  rig.start();
  const std::string program = test::source_dir() / "examples/save-and-resume.py";
  const int slow =
      rig.submit({{"python3", program, rig.folder() / "state.json", "200"}, saving(60)});
  eventually("it begins", [&] { return rig.log(slow).find("step 0\n") != std::string::npos; });
  rig.wait_end(rig.submit("true", whole(60)));
  EXPECT_EQ(rig.wait_end(slow)["state"], "done");
  EXPECT_THAT(rig.log(slow), HasSubstr("saved step "));
  EXPECT_THAT(rig.log(slow), HasSubstr("attempt 2 goes on from step "));
  EXPECT_THAT(rig.log(slow), testing::EndsWith("done\n"));
}

/// A new berthd finds a job that saves; the time for that is its shim's.
TEST(Saving, OutlastsBerthd) {
  Rig rig({.gpus = "1x24GiB", .config = kBySignal});
  rig.start();
  const std::string go = rig.folder() / "go";
  const int slow = rig.submit(
      "if [ $BERTH_ATTEMPT = 2 ]; then echo again; exit 0; fi\n"
      "trap 'echo told; until [ -e " +
          go +
          " ]; do sleep 0.02; done; exit 0'"
          " USR1; echo ready; while :; do sleep 0.02; done",
      saving(600));
  eventually("it is ready", [&] { return rig.log(slow).find("ready") != std::string::npos; });
  const int quick = rig.submit("true", whole(60));
  eventually("it is told", [&] { return rig.log(slow).find("told") != std::string::npos; });
  rig.kill();
  rig.start();
  EXPECT_EQ(rig.job(quick)["state"], "queued");
  std::ofstream(go).put('\n');
  EXPECT_EQ(rig.wait_end(quick)["state"], "done");
  EXPECT_EQ(rig.wait_end(slow)["state"], "done");
  EXPECT_THAT(rig.log(slow), HasSubstr("again"));
}

TEST(Saving, WhereOnlySuchJobsGiveWayOthersStay) {
  Rig rig({.gpus = "1x24GiB", .config = kBySignal});
  rig.start();
  const int slow = rig.submit(test::kUntilGo, whole(3600));
  rig.wait_for(slow, "running");
  const int quick = rig.submit("true", whole(60));
  const int after = rig.submit("true", test::kNoGpus);
  rig.wait_end(after);  // decided after the quick one
  EXPECT_EQ(rig.job(slow)["state"], "running");
  EXPECT_EQ(rig.job(quick)["state"], "queued");
  rig.folder().write("go", "");
  EXPECT_EQ(rig.wait_end(quick)["state"], "done");
  const std::string said = test::slurp(rig.folder() / "daemon.log");
  EXPECT_THAT(said, HasSubstr("berthd: policy srtf preempts: only jobs that save their state "
                              "(--on-preempt) give way\n"));
}

/// Where jobs are suspended, one that saves its state still does that instead.
TEST(Saving, IsChosenBeforeSuspension) {
  Rig rig(
      {.gpus = "1x24GiB", .config = "policy = \"srtf\"\nprobe = \"100ms\"\ngrace = \"500ms\"\n"});
  rig.start();
  const int slow = rig.submit(counts_in(rig.folder() / "count"), saving(60));
  eventually("it counts", [&] { return rig.log(slow).find("\n10\n") != std::string::npos; });
  rig.wait_end(rig.submit("true", whole(60)));
  EXPECT_EQ(rig.wait_end(slow)["state"], "done");
  EXPECT_THAT(rig.log(slow), HasSubstr("saved "));
}

TEST(Saving, AnElasticJobGivesAGpuToAnotherAndHasItBack) {
  Rig rig(
      {.gpus = "2x24GiB", .config = "policy = \"afs\"\nprobe = \"100ms\"\ngrace = \"500ms\"\n"});
  rig.start();
  Json elastic = saving(60);
  elastic.update({{"gpus", 2}, {"min_gpus", 1}, {"max_gpus", 2}});
  const std::string saved = rig.folder() / "count";
  const int wide = rig.submit(
      "n=$(cat " + saved + " 2>/dev/null || echo 0); trap 'echo $n >" + saved + "; exit 0' USR1\n" +
          "echo attempt $BERTH_ATTEMPT has $CUDA_VISIBLE_DEVICES from $n.\n" + "until [ -e " +
          (rig.folder() / "enough") + " ]; do n=$((n+1)); sleep 0.02; done",
      elastic);
  const auto says = [&](const std::string& what) {
    eventually(what, [&] { return rig.log(wide).find(what) != std::string::npos; });
  };
  const auto devices = [](const Json& job, std::size_t attempt) {
    return job["attempts"][attempt]["gpus"].size();
  };
  says("attempt 1 has 0,1 from 0.");
  const int other = rig.submit(test::kUntilGo, whole(3600));
  rig.wait_for(other, "running");
  says("attempt 2 has ");
  EXPECT_EQ(rig.job(wide)["state"], "running") << "both run, on a GPU each";
  rig.folder().write("go", "");
  rig.wait_end(other);
  says("attempt 3 has 0,1 from ");
  rig.folder().write("enough", "");
  const Json job = rig.wait_end(wide);
  EXPECT_EQ(job["state"], "done");
  EXPECT_EQ(devices(job, 0), 2U);
  EXPECT_EQ(devices(job, 1), 1U);
  EXPECT_EQ(devices(job, 2), 2U);
  EXPECT_THAT(rig.log(wide), testing::Not(HasSubstr("3 has 0,1 from 0."))) << "no work was lost";
}

TEST(Saving, WhatMakesNoSenseIsRefused) {
  Rig rig;
  rig.start();
  const std::pair<Json, std::string> kCases[] = {
      {"USR1", "on_preempt: must be an object"},
      {{{"grace_seconds", 5}}, "on_preempt.signal: is missing"},
      {{{"signal", "KILL"}},
       "on_preempt.signal: signal 'KILL' is none of HUP, INT, QUIT, USR1, USR2, ALRM, TERM"},
      {{{"signal", "USR1"}, {"grace_seconds", 86401}}, "on_preempt.grace_seconds: "},
      {{{"signal", "USR1"}, {"grace", 5}}, "on_preempt.grace: unknown key"}};
  for (const auto& [value, what] : kCases) {
    Json body{{"command", {"true"}},
              {"directory", "/"},
              {"environment", Json::array()},
              {"on_preempt", value}};
    const auto answer = rig.request("POST", "/v1/jobs", body);
    EXPECT_EQ(answer.status, 400);
    EXPECT_THAT(answer.body.dump(), HasSubstr(Json(what).dump().substr(1, what.size()))) << what;
  }
}

}  // namespace
}  // namespace berth
