// Goal: an administrator drains GPUs and changes limits of users without a new start; nobody else
// does. Method: a real berthd on emulated GPUs, requests, and a configuration written anew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "daemon/rig.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::path;
using test::Rig;
using testing::HasSubstr;

std::string reason_of(Rig& rig, int id) { return rig.job(id)["reason"]; }

TEST(Drain, KeepsJobsOffAGpuAndSaysWhyAcrossARestart) {
  Rig rig({.gpus = "1x24GiB"});
  rig.start();
  const int there = rig.submit(test::kUntilGo);
  rig.wait_for(there, "running");
  const Rig::Answer drained =
      rig.request("POST", "/v1/drain", {{"gpus", {0}}, {"reason", "new fan"}});
  ASSERT_EQ(drained.status, 200) << drained.body;
  EXPECT_EQ(drained.body["gpus"][0]["drained"]["reason"], "new fan");
  EXPECT_EQ(drained.body["gpus"][0]["healthy"], true);
  const int waits = rig.submit("true");
  const std::string by = drained.body["gpus"][0]["drained"]["by"];
  const std::string why = "GPU 0 is drained by " + by + " (new fan)";
  EXPECT_THAT(reason_of(rig, waits), HasSubstr(why));
  rig.kill();
  rig.start();
  EXPECT_THAT(reason_of(rig, waits), HasSubstr(why));
  const Json answer = rig.request("GET", path(waits, "/why")).body;
  EXPECT_EQ(answer["why"], "drain");
  EXPECT_EQ(answer["reason_brief"], why);
  EXPECT_EQ(answer["lacking"][0]["why"], "drain");
  EXPECT_EQ(answer["lacking"][0]["text"], "is drained by " + by + " (new fan)");
  EXPECT_EQ(answer["lacking"][0]["drained"],
            Json({{"text", by}, {"reason", "new fan"}, {"until_at", nullptr}}));
  EXPECT_EQ(rig.job(there)["state"], "running");
  rig.folder().write("go", "");
  rig.wait_end(there);
  EXPECT_EQ(rig.job(waits)["state"], "queued");
  const Rig::Answer undrained = rig.request("POST", "/v1/undrain", {{"gpus", "all"}});
  EXPECT_EQ(undrained.status, 200);
  EXPECT_FALSE(undrained.body["gpus"][0].contains("drained"));
  EXPECT_EQ(rig.wait_end(waits)["state"], "done");
}

TEST(Drain, EndsAtItsTime) {
  Rig rig({.gpus = "1x24GiB"});
  rig.start();
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  rig.request("POST", "/v1/drain", {{"gpus", "all"}, {"until_at", now + 1}});
  const Json job = rig.wait_end(rig.submit("true"));
  EXPECT_GE(job["started_at"].get<double>(), now + 1);
}

TEST(Drain, IsNamedByIndexAndAdministratorsOnly) {
  Rig rig;
  rig.start();
  for (const auto& [body, message] : std::vector<std::pair<Json, std::string>>{
           {{{"gpus", {2}}}, "gpus: GPU 2: this machine has 2"},
           {{{"gpus", "some"}}, "gpus: must be all or a list of indices, is \"some\""},
           {{{"reason", "x"}}, "gpus: is missing"},
           {{{"gpus", "all"}, {"why", 1}},
            "why: unknown key; valid keys: gpus, reason, until_at"}}) {
    const Rig::Answer answer = rig.request("POST", "/v1/drain", body);
    EXPECT_EQ(answer.status, 400);
    EXPECT_EQ(answer.body["error"], message);
  }
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  ASSERT_EQ(::chmod(rig.folder().path().c_str(), 0755), 0);
  for (const char* const target : {"/v1/drain", "/v1/undrain", "/v1/reload"}) {
    EXPECT_EQ(test::request_as(rig, test::kNobody, "POST", target, {{"gpus", "all"}}).status, 403)
        << target;
  }
}

TEST(Reload, LimitsOfAUserAreInForceAtOnce) {
  const std::string own = std::to_string(::geteuid());
  const std::string base = "probe = \"100ms\"\ngrace = \"500ms\"\n";
  Rig rig({.config = base + "[users." + own + "]\njobs = 1\n"});
  rig.start();
  const int first = rig.submit(test::kUntilGo, test::kNoGpus);
  rig.wait_for(first, "running");
  const int second = rig.submit("true", test::kNoGpus);
  EXPECT_THAT(reason_of(rig, second), HasSubstr("limit of its user: 1 of 1 running jobs"));
  rig.folder().write("berth.toml", base + "slots = 2\n[users." + own +
                                       "]\njobs = 2\n[users.gone-for-good]\njobs = 1\n");
  const Rig::Answer done = rig.request("POST", "/v1/reload");
  ASSERT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(done.body["at_next_start"], Json({"slots"}));
  EXPECT_THAT(rig.text("/v1/doctor"), HasSubstr("waits for the next start of berthd: slots"));
  EXPECT_THAT(done.body["warnings"][0].get<std::string>(),
              HasSubstr("users.gone-for-good: there is no such user; left out"));
  EXPECT_EQ(rig.wait_end(second)["state"], "done");
  rig.folder().write("berth.toml", base + "suspend_host_memory = \"1GiB\"\nlearn_memory = false\n" +
                                       "again_after_overrun = false\nvram_shrink_after = \"1h\"\n");
  EXPECT_EQ(
      rig.request("POST", "/v1/reload").body["at_next_start"],
      Json({"again_after_overrun", "learn_memory", "suspend_host_memory", "vram_shrink_after"}));
  rig.folder().write("berth.toml", base + "polcy = 1\n");
  const Rig::Answer wrong = rig.request("POST", "/v1/reload");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_THAT(wrong.body["error"].get<std::string>(), HasSubstr("polcy: unknown key"));
  EXPECT_THAT(rig.text("/v1/doctor"), HasSubstr("was not taken over, what was before holds"));
  EXPECT_EQ(rig.request("POST", "/v1/drain", {{"gpus", "all"}}).status, 200);
  EXPECT_THAT(rig.text("/v1/doctor"), HasSubstr("all are drained: no job starts"));
  rig.folder().write("go", "");
  rig.wait_end(first);
}

TEST(Reload, FollowsASighup) {
  const std::string own = std::to_string(::geteuid());
  const std::string base = "probe = \"100ms\"\ngrace = \"500ms\"\n";
  Rig rig({.config = base});
  rig.start();
  rig.folder().write("berth.toml", base + "[users." + own + "]\njobs = 1\n");
  const int first = rig.submit(test::kUntilGo, test::kNoGpus);
  rig.wait_for(first, "running");
  ASSERT_EQ(::kill(test::pid_of(rig), SIGHUP), 0);
  eventually("the limit is in force", [&] {
    const int id = rig.submit("true", test::kNoGpus);
    const std::string state = rig.job(id)["state"];
    if (state != "queued") rig.wait_end(id);
    return state == "queued" &&
           reason_of(rig, id).contains("limit of its user: 1 of 1 running jobs");
  });
  rig.folder().write("go", "");
}

}  // namespace
}  // namespace berth
