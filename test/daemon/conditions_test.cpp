// Goal: a job that is to come after others, at a time, in an array or once starts when it may, says
// what it waits for, and a berthd that is killed meanwhile changes nothing of that.
// Method: a real berthd, killed and started again around real jobs; each writes what it did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <sstream>

#include "core/base/rng.hpp"
#include "daemon/dag.hpp"
#include "daemon/rig.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth {
namespace {

using test::Json;
using test::path;
using test::Rig;
using test::without_gpus;
using testing::ElementsAre;
using testing::HasSubstr;

Json on(int job, const char* when = "after-ok") {
  return {{"after", {{{"job", job}, {"when", when}}}}};
}
/// For a request as it is.
Json no_gpus_and(Json more) {
  more = without_gpus(more);
  more.erase("vram_bytes");
  return more;
}

class Conditional : public testing::Test {
 protected:
  void SetUp() override { rig_.start(); }
  void TearDown() override { rig_.folder().write("go", ""); }

  int submit(const std::string& script, const Json& more = Json::object()) {
    return rig_.submit(script, without_gpus(more));
  }
  Rig::Answer post(Json body, const std::string& target = "/v1/jobs") {
    body["command"] = {"true"};
    body["directory"] = "/";
    body["environment"] = Json::array();
    return rig_.request("POST", target, no_gpus_and(std::move(body)));
  }
  Json why(int id) { return rig_.request("GET", path(id, "/why")).body; }

  Rig rig_;
};

TEST_F(Conditional, AJobComesAfterAnotherAndSaysSo) {
  const int first = submit(test::kUntilGo);  // ends with 3
  const int ok = submit("true", on(first));
  const int any = submit("echo any", on(first, "after-any"));
  const int not_ok = submit("true", on(first, "after-notok"));
  const Json job = rig_.job(ok);
  const std::string waits = "waits for job " + std::to_string(first);
  EXPECT_EQ(job["state"], "deferred");
  EXPECT_EQ(job["reason"], waits + " to end well");
  EXPECT_EQ(job["after"], Json({{{"job", first}, {"when", "after-ok"}}}));
  EXPECT_EQ(why(any)["reason"], waits + " to end");
  Json wish = no_gpus_and(on(first));
  wish.update({{"command", {"true"}}, {"directory", "/"}, {"environment", Json::array()}});
  EXPECT_EQ(rig_.request("POST", "/v1/jobs?dry_run=true", wish).body["reason"],
            waits + " to end well");
  rig_.kill();
  rig_.start();
  EXPECT_EQ(rig_.job(ok)["state"], "deferred");
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(any)["state"], "done");
  EXPECT_EQ(rig_.wait_end(not_ok)["state"], "done");
  const Json never = rig_.wait_end(ok);
  EXPECT_EQ(never["state"], "cancelled");
  EXPECT_EQ(never["note"], "never started: job " + std::to_string(first) +
                               " ended as failed, and it was to start only if that ended well");
  EXPECT_TRUE(never["attempts"].empty());
}

TEST_F(Conditional, OneThatEndedLongAgoCountsAsItEnded) {
  const int good = submit("true");
  const int bad = submit("exit 4");
  rig_.wait_end(good);
  rig_.wait_end(bad);
  EXPECT_EQ(rig_.wait_end(submit("true", on(good)))["state"], "done");
  EXPECT_EQ(rig_.wait_end(submit("true", on(bad, "after-notok")))["state"], "done");
  const std::string number = std::to_string(bad);
  for (const char* const target : {"/v1/jobs", "/v1/jobs?dry_run=true"}) {
    const Rig::Answer never = post(on(bad), target);
    EXPECT_EQ(never.status, 400);
    EXPECT_EQ(never.body["error"], "after: job " + number + " ended as failed: after-ok " + number +
                                       " can never be satisfied");
  }
}

/// One that fails at once is there no longer when the next are submitted, who wait for it.
TEST_F(Conditional, AFileOfJobsIsThereBeforeAnyOfThemStarts) {
  const std::string file =
      rig_.folder().write("jobs.toml",
                          "[defaults]\ngpus = 0\n"
                          "[jobs.fails]\ncommand = ['false']\n"
                          "[jobs.never]\ncommand = ['true']\nafter = ['fails']\n"
                          "[jobs.cleanup]\ncommand = ['true']\nafter-notok = ['fails']\n"
                          "[jobs.held]\ncommand = ['true']\nhold = true\n");
  const test::Ran ran =
      test::run_program("berth", {"submit", "--socket", rig_.socket(), "--json", "--file", file});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json jobs = Json::parse(ran.out)["jobs"];
  ASSERT_EQ(jobs.size(), 4U);
  EXPECT_EQ(jobs[0]["name"], "fails");
  EXPECT_EQ(jobs[0]["state"], "queued") << "it was held for the others alone";
  EXPECT_EQ(jobs[3]["state"], "held");
  EXPECT_EQ(rig_.wait_end(jobs[0]["id"])["state"], "failed");
  EXPECT_EQ(rig_.wait_end(jobs[1]["id"])["state"], "cancelled");
  EXPECT_EQ(rig_.wait_end(jobs[2]["id"])["state"], "done");
  EXPECT_EQ(rig_.job(jobs[3]["id"])["state"], "held") << "as the file has it";
}

TEST_F(Conditional, AFileIsTriedOutAndTakesNoOptionOfOneJob) {
  const std::string file = rig_.folder().write("jobs.toml",
                                               "[jobs.first]\ncommand = ['touch', 'ran']\n"
                                               "vram = '1G'\ncpus = 0.01\n"
                                               "[jobs.then]\ncommand = ['true']\ngpus = 0\n"
                                               "after = ['first']\n");
  const auto submit_with = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"submit", "--socket", rig_.socket(), "--file", file});
    return test::run_program("berth", words);
  };
  EXPECT_EQ(submit_with({"--dry-run"}).out, "first: starts now on GPU 0\nthen: after first\n");
  EXPECT_EQ(rig_.request("GET", "/v1/jobs?all=true").body["jobs"], Json::array());
  const test::Ran held = submit_with({"--hold"});
  EXPECT_EQ(held.exit_code, 2);
  EXPECT_EQ(held.err,
            "berth: --file: --hold stands beside it; write it in the file, for one job or under "
            "[defaults]\n");
  EXPECT_EQ(rig_.request("GET", "/v1/jobs?all=true").body["jobs"], Json::array());
}

TEST_F(Conditional, WhatCannotBeIsRefused) {
  const int job = submit("true");
  for (const auto& [body, message] : std::vector<std::pair<Json, std::string>>{
           {on(99), "after: job 99: no such job"},
           {{{"after", {{{"job", job}, {"task", 3}}}}},
            "after: job " + std::to_string(job) + ": is no array"},
           {{{"after", 7}}, "after: must be a list, is 7"},
           {{{"after", {{{"when", "after-ok"}}}}}, "after[0].job: is missing"},
           {on(job, "later"),
            "after[0].when: \"later\" is unknown; valid values: after-any, after-ok, after-notok"},
           {{{"array", "3-1"}}, "array: '3-1' is not a list of 1 to 4096 numbers"},
           {{{"requeue_on", {0}}}, "requeue_on: 0, the least is 1"},
           {{{"array", "1-3"}, {"unique", "x"}}, "unique: with array"}}) {
    const Rig::Answer answer = post(body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_THAT(answer.body["error"].get<std::string>(), HasSubstr(message));
  }
}

TEST_F(Conditional, AnArrayIsJobsWithNumbersOfTheirOwn) {
  const Rig::Answer answer =
      rig_.request("POST", "/v1/jobs",
                   no_gpus_and({{"command",
                                 {"sh", "-c",
                                  "echo $BERTH_ARRAY_TASK_ID $SLURM_ARRAY_TASK_ID "
                                  "$BERTH_ARRAY_JOB_ID $BERTH_ARRAY_TASK_COUNT"}},
                                {"directory", rig_.folder().path().string()},
                                {"environment", {"PATH=/bin:/usr/bin"}},
                                {"name", "sweep"},
                                {"output", "out-%A-%3a-%0j-%%-%7"},
                                {"array", "3,7-9:2%1"}}));
  ASSERT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(answer.body["jobs"], 3);
  const int first = answer.body["id"];
  const int after = submit("cat out-*", on(first));
  const std::vector<int> tasks = {3, 7, 9};
  rig_.wait_end(first);
  for (int i = 0; i < 3; ++i) {
    const std::string task = std::to_string(tasks[static_cast<std::size_t>(i)]);
    const std::string handle = std::to_string(first) + "_" + task;
    const Json job = rig_.request("GET", "/v1/jobs/" + handle).body;
    const std::string says = task + " " + task + " " + std::to_string(first) + " 3\n";
    EXPECT_EQ(job["state"], "done");
    EXPECT_EQ(job["name"], "sweep[" + task + "]");
    EXPECT_EQ(job["array_task"], tasks[static_cast<std::size_t>(i)]);
    EXPECT_EQ(rig_.text("/v1/jobs/" + handle + "/log"), says);
    EXPECT_EQ(test::slurp(rig_.folder() / ("out-" + std::to_string(first) + "-00" + task + "-" +
                                           std::to_string(first + i) + "-%-%7")),
              says);
  }
  EXPECT_EQ(rig_.wait_end(after)["state"], "done") << "the number of an array is all of it";
}

TEST_F(Conditional, ABeginIsATime) {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const int later = submit("true", {{"begin_at", now + 3600}});
  const int soon = submit("true", {{"begin_at", now + 0.5}});
  EXPECT_THAT(rig_.job(later)["reason"].get<std::string>(), HasSubstr("waits until "));
  const Json job = rig_.wait_end(soon);
  EXPECT_GE(job["started_at"].get<double>(), now + 0.5);
  EXPECT_EQ(rig_.job(later)["state"], "deferred");
  const Rig::Answer changed = rig_.request("POST", path(later, "/update"), {{"begin_at", now}});
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(rig_.wait_end(later)["state"], "done");
}

TEST_F(Conditional, AKeyIsTakenOnce) {
  const int first = submit(test::kUntilGo, {{"unique", "nightly"}});
  rig_.kill();
  rig_.start();
  const Rig::Answer again = post({{"unique", "nightly"}});
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body["id"], first);
  EXPECT_EQ(again.body["already"], "nightly");
  rig_.folder().write("go", "");
  rig_.wait_end(first);
  EXPECT_EQ(post({{"unique", "nightly"}}).status, 201);
}

TEST_F(Conditional, AJobRunsAgainAfterTheCodesItNames) {
  const int id = submit("echo $BERTH_ATTEMPT; [ $BERTH_ATTEMPT -ge 3 ] && exit 0; exit 75",
                        {{"requeue_on", {75}}});
  const Json job = rig_.wait_end(id);
  EXPECT_EQ(job["state"], "done");
  EXPECT_EQ(job["attempts"].size(), 3U);
  EXPECT_EQ(job["attempts"][0]["exit_code"], 75);
  EXPECT_EQ(rig_.log(id), "1\n2\n3\n");
}

TEST_F(Conditional, AWaitingJobIsChanged) {
  const int id = rig_.submit("true", {{"held", true}, {"vram_bytes", test::kGiB}});
  const Rig::Answer answer = rig_.request(
      "POST", path(id, "/update"),
      {{"vram_bytes", "5G"}, {"time_limit_seconds", "1h30m"}, {"name", "new"}, {"priority", 4}});
  EXPECT_EQ(answer.status, 200) << answer.body;
  rig_.kill();
  rig_.start();
  const Json job = rig_.job(id);
  EXPECT_EQ(job["vram_bytes"], 5 * test::kGiB);
  EXPECT_EQ(job["time_limit_seconds"], 5400);
  EXPECT_EQ(job["name"], "new");
  EXPECT_EQ(job["priority"], 4);
  const Rig::Answer huge = rig_.request("POST", path(id, "/update"), {{"vram_bytes", "500G"}});
  EXPECT_EQ(huge.status, 422) << huge.body;
  const Rig::Answer odd = rig_.request("POST", path(id, "/update"), {{"command", {"false"}}});
  EXPECT_EQ(odd.status, 400);
  EXPECT_EQ(rig_.request("POST", path(id, "/update"), Json::object()).status, 400);
  rig_.request("POST", path(id, "/release"));
  rig_.wait_end(id);
  EXPECT_EQ(rig_.request("POST", path(id, "/update"), {{"name", "x"}}).status, 409);
  EXPECT_EQ(rig_.job(id)["name"], "new");
}

TEST(Priorities, OrderWaitingJobsWhereThePolicyReadsThem) {
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", "priority"}});
  rig.start();
  const auto with = [](int priority) {
    return Json{{"vram_bytes", 20 * test::kGiB}, {"priority", priority}};
  };
  const int first = rig.submit("sleep 1000", with(0));
  rig.wait_for(first, "running");
  const int low = rig.submit("true", with(0));
  const int high = rig.submit("true", with(2));
  const int raised = rig.submit("true", with(0));
  EXPECT_EQ(rig.request("POST", path(raised, "/update"), {{"priority", 5}}).status, 200);
  rig.request("POST", path(first, "/cancel"));
  for (const int id : {low, high, raised}) rig.wait_end(id);
  const auto start = [&](int id) { return rig.job(id)["started_at"].get<double>(); };
  EXPECT_LT(start(raised), start(high));
  EXPECT_LT(start(high), start(low));
}

TEST_F(Conditional, ADagRunsEachOnceAndInOrderThroughKills) {
  test::run_dag(rig_, {.nodes = 24, .kills = 4, .seed = 1});
}

}  // namespace
}  // namespace berth
