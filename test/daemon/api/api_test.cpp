// Goal: every route answers what doc/openapi.yaml says, every wrong request gets its code and a
// message that names thing, value and limit, and no user acts on another's job. Method: one real
// berthd on two emulated GPUs for all requests; children that become another user where that
// matters.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <set>
#include <sstream>

#include "daemon/rig.hpp"
#include "http/client.hpp"
#include "http/rig.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::kNobody;
using test::path;
using test::request_as;
using test::Rig;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr uid_t kOther = 65533;

class Api : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    rig_ = std::make_unique<Rig>();
    std::filesystem::permissions(rig_->folder().path(), std::filesystem::perms(0755));
    rig_->start();
  }
  static void TearDownTestSuite() { rig_.reset(); }
  /// None is left for the next test's lists.
  void TearDown() override {
    const Json cancelled = rig_->request("POST", "/v1/cancel").body["jobs"];
    for (const Json& job : cancelled) rig_->wait_end(job["id"].get<int>());
  }

  static Rig::Answer get(const std::string& target) { return rig_->request("GET", target); }
  static Rig::Answer post(const std::string& target, const Json& body = {}) {
    return rig_->request("POST", target, body);
  }
  static void expect_refused(const Rig::Answer& answer, int status, const std::string& message) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(answer.body.value("error", ""), message);
  }
  /// The answer to a cancel of these, which all waited.
  static Json cancelled(const std::vector<int>& ids) {
    Json jobs = Json::array();
    for (const int id : ids) jobs.push_back({{"id", id}, {"state", "cancelled"}});
    return {{"jobs", std::move(jobs)}, {"refused", Json::array()}};
  }
  static int held(const Json& more = Json::object(), const std::string& script = "true") {
    Json all = {{"held", true}};
    all.update(more);
    return rig_->submit(script, all);
  }
  static Json submission() {
    return {{"command", {"true"}}, {"directory", "/"}, {"environment", Json::array()}};
  }
  static std::vector<int> ids_of(const Json& page) {
    std::vector<int> ids;
    for (const Json& job : page["jobs"]) ids.push_back(job["id"]);
    return ids;
  }

  static std::unique_ptr<Rig> rig_;
};

std::unique_ptr<Rig> Api::rig_;

// ---- Paths and methods -----------------------------------------------------------------------

TEST_F(Api, PathsThatAreNoneAreSaidToBeNone) {
  for (const char* target : {"/", "/v1", "/v1/", "/v2/jobs", "/v1/job", "/v1/jobs/1/logs",
                             "/v1/jobs/1/log/", "/v1/gpus/0", "//v1/jobs", "/v1/../v1/jobs"}) {
    const auto answer = get(target);
    EXPECT_EQ(answer.status, 404) << target;
    EXPECT_THAT(answer.body["error"].get<std::string>(), HasSubstr(std::string(target)));
  }
}

TEST_F(Api, EachPathHasItsMethod) {
  const int id = held();
  for (const std::string& target :
       {std::string("/v1/gpus"), std::string("/v1/version"), std::string("/v1/doctor"),
        std::string("/v1/events"), path(id), path(id, "/log")}) {
    expect_refused(post(target), 405, "POST " + target + ": method not allowed here");
  }
  for (const std::string& target :
       {std::string("/v1/cancel"), path(id, "/cancel"), path(id, "/hold"), path(id, "/release")}) {
    expect_refused(get(target), 405, "GET " + target + ": method not allowed here");
  }
  for (const char* method : {"PUT", "DELETE", "PATCH", "OPTIONS"}) {
    for (const std::string& target : {std::string("/v1/jobs"), path(id), path(id, "/cancel")}) {
      expect_refused(rig_->request(method, target), 405,
                     std::string(method) + " " + target + ": method not allowed here");
    }
  }
  EXPECT_EQ(rig_->job(id)["state"], "held");
  http::test::RawPeer peer(rig_->socket());
  peer.send("PUT /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(peer.receive_until("\r\n\r\n"), HasSubstr("\r\nAllow: POST, GET, HEAD\r\n"));
}

TEST_F(Api, AHandleIsThatOfAJob) {
  for (const char* id : {"0", "99999999999999999999", "5-3", "7_3-1"}) {
    const auto answer = get(std::string("/v1/jobs/") + id);
    EXPECT_EQ(answer.status, 400) << id;
    EXPECT_THAT(answer.body["error"].get<std::string>(), StartsWith(std::string(id) + ": "));
  }
  for (const char* name : {"x", "-1", "1e3"}) {
    expect_refused(get(std::string("/v1/jobs/") + name), 404,
                   std::string(name) +
                       ": is not a job number, and no job of yours has this name; for a job of "
                       "another user say whose: -u USER");
  }
  expect_refused(get("/v1/jobs/999999"), 404, "job 999999: no such job");
  expect_refused(get("/v1/jobs/999999/log"), 404, "job 999999: no such job");
  expect_refused(post("/v1/jobs/999999/cancel"), 404, "job 999999: no such job");
  expect_refused(get("/v1/events?job=999999"), 404, "job 999999: no such job");
  EXPECT_EQ(get("/v1/events?job=x").status, 404);
  EXPECT_EQ(get("/v1/events?job=0").status, 400);
}

// ---- Version, doctor, GPUs -------------------------------------------------------------------

TEST_F(Api, TheVersionSaysWhoAnswers) {
  const Json version = get("/v1/version").body;
  EXPECT_EQ(version["api"], 1);
  EXPECT_EQ(version["user"], ::geteuid());
  EXPECT_EQ(version["policy"], "turns") << "emulated GPUs let jobs be suspended";
  EXPECT_EQ(version["place"], "least-shared");
  EXPECT_EQ(version["admission"], "guarantee");
  EXPECT_EQ(version["emulated"], true);
  EXPECT_EQ(version["state_directory"], rig_->state());
  EXPECT_TRUE(test::is_alive(version["pid"].get<pid_t>()));
  EXPECT_FALSE(version["version"].get<std::string>().empty());
}

TEST_F(Api, TheDoctorNamesWhatItLookedAt) {
  const auto answer = get("/v1/doctor");
  EXPECT_EQ(answer.status, 200);
  std::map<std::string, std::string> checks;
  for (const Json& check : answer.body["checks"]) {
    checks[check["name"]] = check["status"];
    EXPECT_FALSE(check["detail"].get<std::string>().empty()) << check;
    EXPECT_THAT(check["status"].get<std::string>(), testing::AnyOf("ok", "warn", "fail"));
  }
  EXPECT_EQ(checks["driver"], "warn");  // emulated
  EXPECT_EQ(checks["gpus"], "ok");
  EXPECT_EQ(checks["admission"], "ok");
  EXPECT_EQ(checks["policy"], "ok");
}

TEST_F(Api, GpusShowWhoHoldsWhat) {
  const int id = rig_->submit("sleep 1000", {{"name", "sleeper"}});
  rig_->wait_for(id, "running");
  const Json gpus = get("/v1/gpus").body;
  EXPECT_EQ(gpus["emulated"], true);
  ASSERT_EQ(gpus["gpus"].size(), 2U);
  const int on = rig_->job(id)["gpus"][0];
  const Json gpu = gpus["gpus"][static_cast<std::size_t>(on)];
  EXPECT_EQ(gpu["index"], on);
  EXPECT_EQ(gpu["healthy"], true);
  EXPECT_EQ(gpu["problem"], "");
  EXPECT_EQ(gpu["slots"], 4);
  EXPECT_EQ(gpu["total_bytes"], std::int64_t{24} << 30);
  EXPECT_LT(gpu["capacity_bytes"], gpu["total_bytes"]);
  ASSERT_EQ(gpu["tenants"].size(), 1U);
  EXPECT_EQ(gpu["tenants"][0]["job"], id);
  EXPECT_EQ(gpu["tenants"][0]["name"], "sleeper");
  EXPECT_EQ(gpu["charged_bytes"], gpu["tenants"][0]["charge_bytes"]);
  EXPECT_EQ(gpu["headroom_bytes"].get<std::int64_t>(),
            gpu["capacity_bytes"].get<std::int64_t>() - gpu["charged_bytes"].get<std::int64_t>() -
                gpu["guard_bytes"].get<std::int64_t>() - (std::int64_t{320} << 20));
  const Json other = gpus["gpus"][static_cast<std::size_t>(1 - on)];
  EXPECT_EQ(other["charged_bytes"], 0);
  EXPECT_TRUE(other["tenants"].empty());
}

// ---- Submitting ------------------------------------------------------------------------------

TEST_F(Api, ASubmissionIsAnsweredWithItsNumber) {
  Json body = submission();
  body["held"] = true;
  const auto answer = post("/v1/jobs", body);
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body["state"], "held");
  EXPECT_EQ(rig_->job(answer.body["id"])["state"], "held");
}

TEST_F(Api, SubmissionsThatMakeNoSenseAreNamed) {
  Json body = submission();
  body["gpus"] = -3;
  expect_refused(post("/v1/jobs", body), 400, "gpus: -3, the least is 0");
  body = submission();
  body["vram"] = 5;
  EXPECT_EQ(post("/v1/jobs", body).status, 400);
  expect_refused(post("/v1/jobs", Json::array({1})), 400, "the request is not a JSON object");
  expect_refused(post("/v1/jobs"), 400, "the request is not JSON in UTF-8");
}

TEST_F(Api, SubmissionsThatCanNeverFitAreRefused) {
  Json body = submission();
  body["gpus"] = 3;
  expect_refused(post("/v1/jobs", body), 422, "asks 3 GPUs, the cluster has 2");
  body["gpus"] = 1;
  body["vram_bytes"] = std::int64_t{25} << 30;
  const auto answer = post("/v1/jobs", body);
  EXPECT_EQ(answer.status, 422);
  EXPECT_THAT(answer.body["error"].get<std::string>(), HasSubstr("asks 25 GiB per GPU"));
  body["vram_bytes"] = std::int64_t{1} << 30;
  body["cpus"] = 100'000;
  EXPECT_EQ(post("/v1/jobs", body).status, 422);
}

TEST_F(Api, OnlyJsonIsRead) {
  http::test::RawPeer peer(rig_->socket());
  peer.send(
      "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n"
      "Connection: close\r\n\r\n{}");
  const std::string answer = peer.receive_all();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 415 "));
  EXPECT_THAT(answer, HasSubstr("content type 'text/plain', must be application/json"));
}

TEST_F(Api, ABodyBeyondAllLimitsIsNotRead) {
  http::test::RawPeer peer(rig_->socket());
  peer.send("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n");
  EXPECT_THAT(peer.receive_all(), StartsWith("HTTP/1.1 413 "));
}

// ---- Changing --------------------------------------------------------------------------------

TEST_F(Api, AHeldJobIsReleasedAndHeldAgain) {
  const int id = held({{"gpus", 2}, {"exclusive", true}});
  const int blocker = rig_->submit("sleep 1000", {{"gpus", 2}, {"exclusive", true}});
  rig_->wait_for(blocker, "running");
  expect_refused(post(path(id, "/hold")), 409, "job " + std::to_string(id) + ": is held already");
  EXPECT_EQ(post(path(id, "/release")).body, (Json{{"id", id}, {"state", "queued"}}));
  expect_refused(post(path(id, "/release")), 409,
                 "job " + std::to_string(id) + ": is queued, only a held job can be released");
  EXPECT_EQ(post(path(id, "/hold")).body["state"], "held");
  expect_refused(
      post(path(blocker, "/hold")), 409,
      "job " + std::to_string(blocker) + ": is running, only a job that waits can be held");
}

TEST_F(Api, WhatHasEndedStaysAsItIs) {
  const int id = rig_->submit("true");
  rig_->wait_end(id);
  for (const char* verb : {"/cancel", "/hold", "/release"}) {
    expect_refused(post(path(id, verb)), 409, "job " + std::to_string(id) + ": has ended already");
  }
  const int cancelled = held();
  EXPECT_EQ(post(path(cancelled, "/cancel")).body["state"], "cancelled");
  EXPECT_EQ(post(path(cancelled, "/cancel")).status, 409);
}

TEST_F(Api, ACancelOnItsWayIsNotTakenTwice) {
  const int id = rig_->submit("trap '' TERM; while :; do sleep 0.01; done");
  rig_->wait_for(id, "running");
  EXPECT_EQ(post(path(id, "/cancel")).body["state"], "stopping");
  EXPECT_EQ(post(path(id, "/cancel")).status, 409);
  EXPECT_EQ(rig_->wait_end(id)["state"], "cancelled");
}

TEST_F(Api, CancellingAllNamesWhom) {
  const int first = held();
  const int second = held();
  EXPECT_EQ(post("/v1/cancel").body, cancelled({first, second}));
  EXPECT_EQ(post("/v1/cancel").body, cancelled({}));
}

TEST_F(Api, AHandleThatStandsForNothingHindersNoOther) {
  const int array = held({{"array", "0-1"}});
  const std::string number = std::to_string(array);
  EXPECT_EQ(post(path(array, "/cancel")).status, 200);
  const int waits = held(Json::object(), "exec sleep 1000");
  for (const std::string verb : {"release", "cancel"}) {
    const Rig::Answer answer = post("/v1/" + verb, {{"jobs", {number, waits, "no*"}}});
    EXPECT_EQ(answer.status, 200) << answer.body;
    ASSERT_EQ(answer.body["jobs"].size(), 1U) << answer.body;
    EXPECT_EQ(answer.body["jobs"][0]["id"], waits);
    EXPECT_EQ(answer.body["refused"],
              (Json{{{"handle", number}, {"error", "array " + number + ": has ended already"}},
                    {{"handle", "no*"},
                     {"error",
                      "no*: is not a job number, and no job of yours that has not ended "
                      "has this name; for a job of another user say whose: -u USER"}}}));
  }
  const Rig::Answer none = post("/v1/cancel", {{"jobs", {number, "no*"}}});
  EXPECT_EQ(none.status, 200);
  EXPECT_EQ(none.body["jobs"], Json::array());
  EXPECT_EQ(none.body["refused"].size(), 2U);
  expect_refused(post("/v1/cancel", {{"jobs", {number}}}), 409,
                 "array " + number + ": has ended already");
}

TEST_F(Api, SeveralAreChangedWithOneRequestAndEachRefusalIsNamed) {
  const int first = held({{"name", "a"}}, "exec sleep 1000");  // it has not ended when asked again
  const int second = held({{"name", "b"}});
  const std::string name = std::to_string(first);
  EXPECT_EQ(post("/v1/release", {{"jobs", {first, "b"}}}).status, 200);
  EXPECT_NE(rig_->job(second)["state"], "held");
  const Rig::Answer answer = post("/v1/release", {{"jobs", {name, 999999}}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body["jobs"], Json::array());
  EXPECT_THAT(answer.body["refused"][0]["error"].get<std::string>(),
              HasSubstr("only a held job can be released"));
  EXPECT_EQ(answer.body["refused"][1]["error"], "job 999999: no such job");
  expect_refused(post("/v1/hold"), 400, "jobs: is missing");
  expect_refused(
      post("/v1/hold", {{"jobs", {"no*"}}}), 404,
      "no*: is not a job number, and no job of yours that has not ended has this name; for "
      "a job of another user say whose: -u USER");
  expect_refused(post("/v1/hold", {{"jobs", {"0"}}}), 400,
                 "jobs: 0: is not a job number, which is from 1 to 1099511627776");
  expect_refused(post("/v1/hold", {{"job", 7}}), 400,
                 "job: unknown key; valid keys: jobs, users, change");
  expect_refused(post("/v1/update", {{"jobs", {first}}}), 400, "change: is missing");
  expect_refused(post("/v1/hold", {{"jobs", {first}}, {"change", {{"name", "x"}}}}), 400,
                 "change: is of update alone");
  EXPECT_EQ(post(path(first, "/cancel")).status, 200);
  EXPECT_EQ(rig_->wait_end(first)["state"], "cancelled");
  EXPECT_EQ(rig_->wait_end(second)["state"], "done");
}

/// More than one step cancels.
TEST_F(Api, OnlyRootCancelsAllOfAUsers) {
  const int id = held();
  const std::string target = "/v1/cancel?user=" + std::to_string(::geteuid());
  EXPECT_EQ(post("/v1/cancel?user=77777").body, cancelled({}));
  EXPECT_EQ(post("/v1/cancel?user=x").status, 400);
  if (::geteuid() == 0) {
    const auto answer = request_as(*rig_, kNobody, "POST", target);
    expect_refused(
        answer, 403,
        "jobs of root (uid 0): you are nobody (uid 65534); others' jobs are for operators "
        "(`operators` in berth.toml)");
  }
  EXPECT_EQ(post(target).body, cancelled({id}));
}

TEST_F(Api, StartsArePredictedForAllThatWait) {
  const Json whole = {{"exclusive", true}, {"time_limit_seconds", 1000}};
  std::vector<int> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(rig_->submit("while :; do sleep 0.05; done", whole));
  rig_->wait_for(ids[0], "running");
  rig_->wait_for(ids[1], "running");
  const Json starts = get("/v1/starts").body["starts"];
  ASSERT_EQ(starts.size(), 2U) << starts;
  for (const Json& start : starts) EXPECT_GT(start["at"], 0);
  EXPECT_EQ(starts[0]["job"], ids[2]);
  EXPECT_EQ(get("/v1/starts").body["starts"], starts) << "nothing has changed";
  const Json waiting = rig_->job(ids[2]);
  EXPECT_THAT(waiting["reason_brief"].get<std::string>(), StartsWith("needs GPU "));
}

TEST_F(Api, UsageSumsUpWhatUsersHeld) {
  const int id = rig_->submit("true", {{"vram_bytes", std::int64_t{1} << 30}});
  rig_->wait_end(id);
  const Json usage = get("/v1/usage").body;
  ASSERT_FALSE(usage["groups"].empty()) << usage;
  const Json& group = usage["groups"][0];
  EXPECT_EQ(group["user"], ::geteuid());
  EXPECT_GE(group["jobs"]["done"], 1);
  EXPECT_GT(group["gpu_seconds"].get<double>(), 0.0);
  EXPECT_GT(group["memory_byte_seconds"].get<double>(), 0.0);
  EXPECT_EQ(group["month"].get<std::string>().size(), 7U);
  const auto later = get("/v1/usage?since=" + std::to_string(std::int64_t{1} << 39));
  EXPECT_TRUE(later.body["groups"].empty()) << later.body;
  EXPECT_EQ(get("/v1/usage?since=x").status, 400);
}

TEST_F(Api, MetricsAreOpenMetrics) {
  const std::string text = rig_->text("/metrics");
  EXPECT_THAT(text, EndsWith("# EOF\n"));
  for (const char* const line :
       {"# TYPE berth_jobs gauge\n", "berth_jobs{state=\"waiting\"} ", "berth_grants_total ",
        "berth_gpu_capacity_bytes{gpu=\"1\",name=", "berth_gpu_healthy{gpu=\"0\",name=",
        "berth_build_info{version="}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  // Every sample belongs to the family above it, and each family is there once.
  std::set<std::string> families;
  std::istringstream lines(text);
  std::string family;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(families.insert(family).second) << family;
    } else if (!line.starts_with("#")) {
      EXPECT_THAT(line, StartsWith(family));
    }
  }
  expect_refused(post("/metrics"), 405, "POST /metrics: method not allowed here");
}

TEST_F(Api, CancellingManyNamesAll) {
  auto client = http::Client::open(rig_->socket());
  Json body = submission();
  body["held"] = true;
  std::vector<int> ids;
  for (int i = 0; i < 1002; ++i) {
    const auto answer = client->request("POST", "/v1/jobs", body.dump());
    ids.push_back(Json::parse(answer->body)["id"]);
  }
  EXPECT_EQ(post("/v1/cancel").body, cancelled(ids));
  EXPECT_EQ(ids_of(get("/v1/jobs").body), std::vector<int>{});
}

// ---- Reading ---------------------------------------------------------------------------------

TEST_F(Api, AJobHasEveryFieldOfTheContract) {
  const int id = held({{"name", "whole"},
                       {"gpus", 2},
                       {"cpus", 0.5},
                       {"mem_bytes", 4194304},
                       {"class", "long"},
                       {"priority", 3},
                       {"time_limit_seconds", 60.5}});
  const Json job = rig_->job(id);
  EXPECT_EQ(job["name"], "whole");
  EXPECT_EQ(job["user"], ::geteuid());
  EXPECT_EQ(job["command_line"], "sh -c true");
  EXPECT_EQ(job["command"], (Json{"sh", "-c", "true"}));
  EXPECT_EQ(job["directory"], rig_->folder().path().string());
  EXPECT_EQ(job["gpus"], Json::array());
  EXPECT_EQ(job["gpu_count"], 2);
  EXPECT_EQ(job["vram_bytes"], std::int64_t{1} << 30);
  EXPECT_EQ(job["exclusive"], false);
  EXPECT_EQ(job["cpus"], 0.5);
  EXPECT_EQ(job["mem_bytes"], 4194304);
  EXPECT_EQ(job["class"], "long");
  EXPECT_EQ(job["priority"], 3);
  EXPECT_EQ(job["time_limit_seconds"], 60.5);
  EXPECT_EQ(job["attempt"], 0);
  EXPECT_EQ(job["reason"], "held by its owner");
  EXPECT_EQ(job["note"], "");
  EXPECT_EQ(job["attempts"], Json::array());
  EXPECT_EQ(job["reports"], Json::object());
  EXPECT_EQ(job["log_bytes"], 0);
  EXPECT_EQ(job["exit_code"], nullptr);
  EXPECT_EQ(job["started_at"], nullptr);
  EXPECT_EQ(job["ended_at"], nullptr);
  EXPECT_GT(job["submitted_at"], 1e9);
  EXPECT_EQ(job["ran_seconds"], 0);
  EXPECT_GE(job["waited_seconds"], 0);
}

TEST_F(Api, HeadIsGetWithoutTheBody) {
  http::test::RawPeer peer(rig_->socket());
  peer.send("HEAD " + path(held()) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answer = peer.receive_all();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(Api, JobsComeInPagesNewestFirst) {
  std::vector<int> all;
  for (int i = 0; i < 5; ++i) all.insert(all.begin(), held());
  std::vector<int> seen;
  std::string before;
  int pages = 0;
  do {
    const Json page = get("/v1/jobs?limit=2" + before).body;
    for (const int id : ids_of(page)) seen.push_back(id);
    before = page["next_before"].is_null()
                 ? ""
                 : "&before=" + std::to_string(page["next_before"].get<int>());
    ASSERT_LT(++pages, 10);
  } while (!before.empty());
  EXPECT_EQ(seen, all);
}

/// A line of a list needs no more, and says the same.
TEST_F(Api, BriefRowsHaveSomeMembersOfTheOthersAndNoOtherValues) {
  const int held_one = held({{"name", "train"}, {"exclusive", true}, {"vram_bytes", nullptr}});
  const int unnamed = held({{"vram_bytes", std::int64_t{2} << 30}});
  const int failed = rig_->submit("exit 3", test::kNoGpus);
  const int timed_out = rig_->submit("sleep 1000", {{"time_limit_seconds", 0.2}});
  const int array = held({{"array", "1-2"}});
  const int running = rig_->submit("sleep 1000", {{"vram_bytes", std::int64_t{2} << 30}});
  rig_->wait_for(running, "running");
  rig_->wait_end(failed);
  rig_->wait_end(timed_out);
  const std::string target = "/v1/jobs?all=true&limit=1000";
  const Json full = get(target).body["jobs"];
  const Json brief = get(target + "&brief=true").body["jobs"];
  ASSERT_EQ(full.size(), brief.size());
  for (std::size_t i = 0; i < full.size(); ++i) {
    for (const auto& [key, value] : brief[i].items()) EXPECT_EQ(value, full[i][key]) << brief[i];
  }
  const auto keys_of = [&](int id) {
    std::set<std::string> keys;
    for (const Json& row : brief) {
      for (const auto& [key, value] : row.items()) {
        if (row["id"] == id) keys.insert(key);
      }
    }
    return keys;
  };
  using Keys = std::set<std::string>;
  const Keys always = {"id", "state", "user", "user_name", "gpu_count", "class", "submitted_at"};
  const auto with = [&](Keys more) {
    more.insert(always.begin(), always.end());
    return more;
  };
  EXPECT_EQ(keys_of(held_one), with({"name", "exclusive", "reason_brief"}));
  EXPECT_EQ(keys_of(unnamed), with({"command_line", "vram_bytes", "reason_brief"}));
  EXPECT_EQ(keys_of(failed), with({"command_line", "exit_code", "started_at", "ended_at"}));
  EXPECT_TRUE(keys_of(timed_out).contains("time_limit_seconds"));
  EXPECT_TRUE(keys_of(array + 1).contains("handle"));
  EXPECT_TRUE(keys_of(running).contains("gpus"));
  EXPECT_TRUE(keys_of(running).contains("memory_limit"));
  expect_refused(get("/v1/jobs?brief=maybe"), 400, "brief: 'maybe', must be true or false");
  post(path(running, "/cancel"));
  rig_->wait_end(running);
}

TEST_F(Api, JobsComeInPagesOldestFirst) {
  std::vector<int> all;
  for (int i = 0; i < 5; ++i) all.push_back(held());
  const int gone = all[1];
  const Json first = all[0] - 1;  // other tests had jobs before
  EXPECT_EQ(post(path(gone, "/cancel")).status, 200);
  for (const char* which : {"", "&all=true"}) {
    std::vector<int> seen;
    Json after = first;
    for (int pages = 0; !after.is_null(); ++pages) {
      ASSERT_LT(pages, 10);
      const Json page = get("/v1/jobs?limit=2&after=" + after.dump() + which).body;
      for (const int id : ids_of(page)) seen.push_back(id);
      after = page["next_after"];
    }
    std::vector<int> wanted = all;
    if (*which == '\0') std::erase(wanted, gone);
    EXPECT_EQ(seen, wanted) << which;
  }
  EXPECT_EQ(ids_of(get("/v1/jobs?only=ended&after=" + first.dump()).body), std::vector<int>{gone});
  EXPECT_EQ(ids_of(get("/v1/jobs?before=0").body), std::vector<int>{});
}

TEST_F(Api, RunningJobsCanBeAskedForAlone) {
  const int before = held();
  const int running = rig_->submit("sleep 1000");
  const int later = rig_->submit("sleep 1000");
  held();
  rig_->wait_for(running, "running");
  rig_->wait_for(later, "running");
  EXPECT_EQ(ids_of(get("/v1/jobs?only=running").body), (std::vector<int>{later, running}));
  EXPECT_EQ(ids_of(get("/v1/jobs?only=running&after=" + std::to_string(before)).body),
            (std::vector<int>{running, later}));
  const Json first = get("/v1/jobs?only=running&after=0&limit=1").body;
  EXPECT_EQ(ids_of(first), std::vector<int>{running});
  EXPECT_EQ(first["next_after"], running);
  const Json second = get("/v1/jobs?only=running&limit=1&after=" + std::to_string(running)).body;
  EXPECT_EQ(ids_of(second), std::vector<int>{later});
  EXPECT_EQ(second["next_after"], nullptr);
  EXPECT_EQ(ids_of(get("/v1/jobs?only=running&before=" + std::to_string(later)).body),
            std::vector<int>{running});
}

TEST_F(Api, AListIsAskedForInOneWay) {
  const auto error_of = [](const char* target) {
    const auto answer = get(target);
    EXPECT_EQ(answer.status, 400) << target;
    return answer.body["error"].get<std::string>();
  };
  EXPECT_EQ(error_of("/v1/jobs?only=queued"), "only: 'queued', must be running or ended");
  EXPECT_EQ(error_of("/v1/jobs?only=ended&all=1"), "only: given with all; give one of them");
  EXPECT_EQ(error_of("/v1/jobs?after=1&before=2"), "after: given with before; give one of them");
  EXPECT_EQ(error_of("/v1/jobs?after=-1"), "after: '-1', must be a number up to 1099511627776");
}

TEST_F(Api, EndedJobsAreShownWhenAsked) {
  const int ended = rig_->submit("true");
  rig_->wait_end(ended);
  const int alive = held();
  EXPECT_EQ(ids_of(get("/v1/jobs").body), std::vector<int>{alive});
  const std::vector<int> all = ids_of(get("/v1/jobs?all=true&limit=2").body);
  EXPECT_EQ(all, (std::vector<int>{alive, ended}));
  EXPECT_EQ(ids_of(get("/v1/jobs?all=1&limit=1&before=" + std::to_string(alive)).body),
            std::vector<int>{ended});
}

/// Live and ended ones, in both orders, one page at a time: each once, none left out.
TEST_F(Api, PagesOfAllLeaveNobodyOut) {
  std::vector<int> all;
  for (int i = 0; i < 4; ++i) {
    all.insert(all.begin(), held());
    const int gone = held();
    EXPECT_EQ(post(path(gone, "/cancel")).status, 200);
    all.insert(all.begin(), gone);
  }
  for (const int limit : {1, 2, 3}) {
    std::vector<int> seen;
    int before = all.front() + 1;
    while (seen.size() < all.size()) {
      const Json page =
          get("/v1/jobs?all=1&limit=" + std::to_string(limit) + "&before=" + std::to_string(before))
              .body;
      for (const int id : ids_of(page)) seen.push_back(id);
      if (page["next_before"].is_null()) break;
      before = page["next_before"];
    }
    seen.resize(std::min(seen.size(), all.size()));
    EXPECT_EQ(seen, all) << limit;
  }
}

TEST_F(Api, OneUsersJobsAreChosenByNumber) {
  const int id = held();
  EXPECT_EQ(ids_of(get("/v1/jobs?user=" + std::to_string(::geteuid())).body), std::vector<int>{id});
  EXPECT_TRUE(ids_of(get("/v1/jobs?user=4294967294").body).empty());
}

TEST_F(Api, QueriesThatMakeNoSenseAreNamed) {
  expect_refused(get("/v1/jobs?limit=1001"), 400, "limit: '1001', must be a number up to 1000");
  expect_refused(get("/v1/jobs?limit=x"), 400, "limit: 'x', must be a number up to 1000");
  expect_refused(get("/v1/jobs?limit="), 400, "limit: '', must be a number up to 1000");
  expect_refused(get("/v1/jobs?before=-1"), 400,
                 "before: '-1', must be a number up to 1099511627777");
  expect_refused(get("/v1/jobs?user=root"), 400, "user: 'root', must be a number up to 4294967295");
  expect_refused(get("/v1/jobs?all=maybe"), 400, "all: 'maybe', must be true or false");
  const int id = held();
  expect_refused(get(path(id, "/log?offset=-1")), 400,
                 "offset: '-1', must be a number up to 4611686018427387904");
  expect_refused(get(path(id, "/log?follow=2")), 400, "follow: '2', must be true or false");
}

// ---- Logs and events -------------------------------------------------------------------------

TEST_F(Api, ALogIsReadFromItsOffset) {
  const int id = rig_->submit("echo out; echo err >&2");
  rig_->wait_end(id);
  EXPECT_EQ(rig_->log(id), "out\nerr\n");
  EXPECT_EQ(rig_->text(path(id, "/log?offset=4")), "err\n");
  EXPECT_EQ(rig_->text(path(id, "/log?follow=1&offset=4")), "err\n");
  EXPECT_EQ(rig_->job(id)["log_bytes"], 8);
  EXPECT_EQ(rig_->text(path(held(), "/log")), "");
}

TEST_F(Api, EventsOfAJobBeginWithItsStateAndEndWithItsEnd) {
  const int ended = rig_->submit("exit 3");
  rig_->wait_end(ended);
  std::vector<std::string> states;
  http::EventReader reader;
  const auto keep = [&](const http::ServerEvent& event) {
    EXPECT_EQ(event.name, "job");
    states.push_back(Json::parse(event.data)["state"]);
  };
  reader.add(rig_->text("/v1/events?job=" + std::to_string(ended)), keep);
  EXPECT_THAT(states, ElementsAre("failed"));
  states.clear();
  const int id = rig_->submit("sleep 0.05");
  reader.add(rig_->text("/v1/events?job=" + std::to_string(id)), keep);
  ASSERT_FALSE(states.empty());
  EXPECT_EQ(states.back(), "done");
}

TEST_F(Api, EventsOfAllNameEveryJobThatChanges) {
  auto client = http::Client::open(rig_->socket());
  ASSERT_TRUE(client);
  int id = 0;
  std::vector<std::string> states;
  http::EventReader reader;
  const auto answer = client->stream("GET", "/v1/events", [&](std::string_view piece) {
    if (id == 0) id = rig_->submit("true");  // a client listens now
    reader.add(piece, [&](const http::ServerEvent& event) {
      const Json job = Json::parse(event.data);
      if (job["id"] == id) states.push_back(job["state"]);
    });
    return states.empty() || states.back() != "done";
  });
  EXPECT_EQ(states.back(), "done");
  EXPECT_EQ(get("/v1/version").status, 200);  // a listener that has gone does no harm
  rig_->wait_end(rig_->submit("true"));
}

// ---- Whose is it -----------------------------------------------------------------------------

class ApiUsers : public Api {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be several users";
  }
  void TearDown() override {
    if (::geteuid() == 0) request_as(*rig_, kNobody, "POST", "/v1/cancel");
    Api::TearDown();
  }
  static int submit_as(uid_t user, const std::string& script, const Json& more = Json::object()) {
    Json body = {{"command", {"sh", "-c", script}},
                 {"directory", "/"},
                 {"environment", {"PATH=/usr/bin:/bin"}},
                 {"vram_bytes", std::int64_t{1} << 30}};
    body.update(more);
    const auto answer = request_as(*rig_, user, "POST", "/v1/jobs", body);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return answer.status == 201 ? answer.body["id"].get<int>() : -1;
  }
};

TEST_F(ApiUsers, AJobRunsAsWhoSubmittedIt) {
  const int id = submit_as(kNobody, "id -u; id -g; id -G");
  const Json job = rig_->wait_end(id);
  EXPECT_EQ(job["state"], "done") << job;
  EXPECT_EQ(job["user"], kNobody);
  EXPECT_EQ(rig_->log(id), "65534\n65534\n65534\n");
}

TEST_F(ApiUsers, OnlyTheOwnerAndRootChangeAJob) {
  const int id = submit_as(kNobody, "true", {{"held", true}});
  for (const char* verb : {"/cancel", "/hold", "/release"}) {
    expect_refused(request_as(*rig_, kOther, "POST", path(id, verb)), 403,
                   "job " + std::to_string(id) +
                       ": belongs to nobody (uid 65534), you are uid 65533; others' jobs are for "
                       "operators (`operators` in berth.toml)");
  }
  EXPECT_EQ(rig_->job(id)["state"], "held");
  EXPECT_EQ(request_as(*rig_, kNobody, "POST", path(id, "/release")).status, 200);
  EXPECT_EQ(rig_->wait_end(id)["state"], "done");
  const int next = submit_as(kNobody, "true", {{"held", true}});
  EXPECT_EQ(post(path(next, "/cancel")).status, 200);  // root may
}

TEST_F(ApiUsers, OnlyTheOwnerAndRootReadALog) {
  const int id = submit_as(kNobody, "echo secret");
  rig_->wait_end(id);
  expect_refused(request_as(*rig_, kOther, "GET", path(id, "/log")), 403,
                 "job " + std::to_string(id) +
                     ": belongs to nobody (uid 65534), you are uid 65533; others' logs are for "
                     "administrators (`admins` in berth.toml)");
  EXPECT_EQ(request_as(*rig_, kOther, "GET", path(id, "/log?follow=1")).status, 403);
  EXPECT_EQ(request_as(*rig_, kNobody, "GET", path(id, "/log")).body, Json("secret\n"));
  EXPECT_EQ(rig_->log(id), "secret\n");
}

TEST_F(ApiUsers, WhoWaitsForWhatIsEverybodysToSee) {
  const int id = submit_as(kNobody, "true", {{"held", true}});
  EXPECT_EQ(request_as(*rig_, kOther, "GET", path(id)).status, 200);
  EXPECT_EQ(request_as(*rig_, kOther, "GET", "/v1/gpus").status, 200);
}

TEST_F(ApiUsers, CancellingAllIsOfOnesOwn) {
  const int theirs = submit_as(kNobody, "true", {{"held", true}});
  const int ours = held();
  EXPECT_EQ(request_as(*rig_, kOther, "POST", "/v1/cancel").body, cancelled({}));
  EXPECT_EQ(post("/v1/cancel").body, cancelled({ours}));  // root's own, too
  EXPECT_EQ(request_as(*rig_, kNobody, "POST", "/v1/cancel").body, cancelled({theirs}));
}

TEST_F(ApiUsers, ALogIsNotToBeReadBesideTheApi) {
  const int id = submit_as(kNobody, "echo secret");
  rig_->wait_end(id);
  for (const char* folder : {"/logs", "/attempts"}) {
    const auto mode = std::filesystem::status(rig_->state() + folder).permissions();
    EXPECT_EQ(mode, std::filesystem::perms(0700)) << folder;
  }
  EXPECT_EQ(std::filesystem::status(rig_->journal()).permissions(), std::filesystem::perms(0600));
}

}  // namespace
}  // namespace berth
