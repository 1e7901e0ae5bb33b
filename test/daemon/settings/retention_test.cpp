// Goal: what ended jobs leave goes when the configuration says so, environments with their job, and
// nothing that a waiting or running job needs; numbers are not used again.
//
// Method: the choice of logs alone; a berthd that keeps jobs for a second, killed and started
// again, whose journal is read afterwards.
#include "daemon/settings/retention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "daemon/rig.hpp"
#include "journal/store.hpp"

namespace berth::daemon {
namespace {

using test::eventually;
using test::Json;
using test::Rig;
using test::without_gpus;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(NeedlessLogs, AreOldOrTooMuchAndOfEndedJobs) {
  const Instant now = kStart + minutes(1000);
  const auto file = [&](std::uint64_t job, std::int64_t size, Duration age) {
    return LogFile{.job = JobId(job), .size = Bytes(size), .written = now - age};
  };
  const std::vector<LogFile> files = {file(3, 10, minutes(1)), file(1, 30, minutes(50)),
                                      file(2, 20, minutes(90))};
  const auto all_ended = [](JobId) { return true; };
  EXPECT_THAT(needless_logs(files, {}, now, all_ended), IsEmpty());
  EXPECT_THAT(needless_logs(files, {.logs = minutes(60)}, now, all_ended), ElementsAre(JobId(2)));
  EXPECT_THAT(needless_logs(files, {.logs_size = Bytes(60)}, now, all_ended), IsEmpty());
  EXPECT_THAT(needless_logs(files, {.logs_size = Bytes(30)}, now, all_ended),
              ElementsAre(JobId(1)));
  EXPECT_THAT(
      needless_logs(files, {.logs_size = Bytes(1)}, now, [](JobId job) { return job != JobId(2); }),
      ElementsAre(JobId(1), JobId(3)));
}

TEST(NeedlessLogs, OfAUserGoBeforeThoseOfOthers) {
  constexpr UserId kAnn(1000);
  constexpr UserId kBob(1001);
  const auto file = [&](std::uint64_t job, std::int64_t size, std::optional<UserId> user) {
    return LogFile{.job = JobId(job), .size = Bytes(size), .written = kStart, .user = user};
  };
  const std::vector<LogFile> files = {file(1, 30, kBob), file(2, 20, kAnn), file(3, 20, kAnn),
                                      file(4, 90, std::nullopt), file(5, 20, kAnn)};
  const auto all_ended = [](JobId) { return true; };
  const auto needless = [&](const RetentionRules& rules, const auto& has_ended) {
    return needless_logs(files, rules, kStart, has_ended);
  };
  EXPECT_THAT(needless({.user_logs_size = Bytes(60)}, all_ended), IsEmpty());
  EXPECT_THAT(needless({.user_logs_size = Bytes(40)}, all_ended), ElementsAre(JobId(2)));
  EXPECT_THAT(needless({.user_logs_size = Bytes(25)}, all_ended),
              ElementsAre(JobId(1), JobId(2), JobId(3)));
  EXPECT_THAT(needless({.user_logs_size = Bytes(25)}, [](JobId job) { return job != JobId(2); }),
              ElementsAre(JobId(1), JobId(3), JobId(5)))
      << "what runs counts and stays";
  const RetentionRules own = {.user_logs_size = Bytes(25), .of_users = {{kAnn, Bytes(0)}}};
  EXPECT_THAT(needless(own, all_ended), ElementsAre(JobId(1)));
  // What is over of one user's makes room for all.
  const RetentionRules both = {.logs_size = Bytes(140), .of_users = {{kAnn, Bytes(20)}}};
  EXPECT_THAT(needless(both, all_ended), ElementsAre(JobId(2), JobId(3)));
}

/// Whether any environment or command in the journal has this in it.
bool holds(Rig& rig, const std::string& words) {
  const auto store = journal::Store::open(rig.journal(), journal::Access::ReadOnly);
  EXPECT_TRUE(store) << store.error().message;
  const auto blobs = store->blobs_after(BlobId(), 1'000'000);
  EXPECT_TRUE(blobs);
  for (const BlobId blob : *blobs) {
    const auto bytes = store->blob(blob);  // one may just have left
    if (bytes && bytes->find(words) != std::string::npos) return true;
  }
  return false;
}

const std::string kConfig = "probe = \"100ms\"\ngrace = \"500ms\"\n";

TEST(Retention, ASnapshotLeavesWithTheLastJobThatHasIt) {
  Rig rig({.config = kConfig + "keep_jobs = \"1s\"\n"});
  const std::string copy = rig.folder() / "berth/snapshots/code-1";
  std::filesystem::create_directories(copy + "/src");
  rig.folder().write("berth/snapshots/code-1/src/a.py", "");
  rig.start();
  const Json in_it = {{"snapshot", copy}, {"array", "0-1"}};
  EXPECT_EQ(rig.submit("true", without_gpus(in_it)), 1);
  EXPECT_EQ(Json::parse(rig.text("/v1/jobs/1_0"))["snapshot"], copy);
  eventually("it is gone", [&] { return !std::filesystem::exists(copy); });
  EXPECT_TRUE(std::filesystem::exists(rig.folder() / "berth/snapshots"));
  const auto wrong = rig.request("POST", "/v1/jobs",
                                 {{"command", {"true"}},
                                  {"directory", "/"},
                                  {"environment", Json::array()},
                                  {"snapshot", rig.folder() / "berth/snapshots/../.."}});
  EXPECT_EQ(wrong.status, 400);
  EXPECT_THAT(wrong.body.dump(), HasSubstr("is not the absolute path of a folder in"));
}

TEST(Retention, OldJobsLeaveWithTheirLogsAndEnvironmentsAndOthersStay) {
  Rig rig({.config = kConfig + "keep_jobs = \"1s\"\n"});
  rig.start();
  const Json secret = {{"environment", {"PATH=/usr/bin:/bin", "TOKEN=hunter2"}}};
  const Json shared = {{"environment", {"PATH=/usr/bin:/bin", "TOKEN=shared"}}};
  const int first = rig.submit("echo $TOKEN", without_gpus(secret));
  rig.wait_end(first);
  const std::string log = rig.state() + "/logs/" + std::to_string(first) + ".log";
  EXPECT_TRUE(std::filesystem::exists(log));
  const int ends = rig.submit("true", without_gpus(shared));
  Json holds_back = shared;
  holds_back["held"] = true;
  const int held = rig.submit("echo $TOKEN", without_gpus(holds_back));
  const int running = rig.submit(test::kUntilGo, without_gpus(shared));
  rig.wait_for(running, "running");
  rig.wait_end(ends);
  for (const int id : {first, ends}) {
    eventually("it is gone", [&] { return rig.request("GET", test::path(id)).status == 404; });
  }
  eventually("its log is gone", [&] { return !std::filesystem::exists(log); });
  EXPECT_EQ(rig.job(held)["state"], "held");
  EXPECT_EQ(rig.job(running)["state"], "running");
  eventually("its environment is gone", [&] { return !holds(rig, "hunter2"); });
  EXPECT_TRUE(holds(rig, "TOKEN=shared")) << "two jobs need it yet";
  rig.kill();
  rig.start();
  EXPECT_EQ(rig.request("POST", test::path(held, "/release")).status, 200);
  eventually("it has run with what it was submitted with",
             [&] { return rig.log(held) == "shared\n"; });
  rig.folder().write("go", "");
  eventually("all are gone",
             [&] { return rig.text("/v1/jobs?state=all").find("\"id\"") == std::string::npos; });
  rig.stop();
  rig.start();
  EXPECT_EQ(rig.submit("true", test::kNoGpus), running + 1) << "no number is used again";
}

TEST(Retention, WithoutAnAgeEnvironmentsGoAllTheSameAndHistoryStays) {
  Rig rig({.config = kConfig + "keep_logs = \"1s\"\n"});  // looks often
  rig.start();
  const Json secret = {{"environment", {"PATH=/usr/bin:/bin", "TOKEN=hunter2"}}};
  const int id = rig.submit("echo $TOKEN", without_gpus(secret));
  rig.wait_end(id);
  eventually("its environment is gone", [&] { return !holds(rig, "hunter2"); });
  eventually("its log is gone", [&] { return rig.job(id)["log_bytes"] == 0; });
  const Json job = rig.job(id);
  EXPECT_EQ(job["state"], "done");
  EXPECT_THAT(job["command"].dump(), HasSubstr("echo $TOKEN")) << "what it ran is still known";
  // The same environment again is a new one.
  const int again = rig.submit("echo $TOKEN", without_gpus(secret));
  rig.wait_end(again);
  EXPECT_EQ(rig.job(again)["state"], "done");
}

TEST(Retention, LogsTakeNoMoreThanTheyMay) {
  Rig rig({.config = kConfig + "keep_logs_size = \"5MiB\"\nkeep_logs = \"100s\"\n"});
  rig.start();
  const std::string writes = "head -c 2000000 /dev/zero; ";
  const int lives = rig.submit(writes + test::kUntilGo, test::kNoGpus);
  std::vector<int> ended;
  for (int i = 0; i < 3; ++i) ended.push_back(rig.submit(writes + "true", test::kNoGpus));
  for (const int id : ended) rig.wait_end(id);
  const auto size = [&](int id) { return rig.job(id)["log_bytes"].get<std::int64_t>(); };
  rig.folder().write("berth.toml", kConfig + "keep_logs_size = \"5MiB\"\nkeep_logs = \"99s\"\n");
  EXPECT_EQ(rig.request("POST", "/v1/reload").status, 200);  // looks at once
  eventually("the oldest ended ones are gone", [&] { return size(ended[0]) == 0; });
  eventually("two are gone", [&] { return size(ended[1]) == 0; });
  EXPECT_EQ(size(ended[2]), 2'000'000);
  EXPECT_EQ(size(lives), 2'000'000) << "its job runs";
  EXPECT_EQ(rig.job(ended[0])["log_deleted"], true);
  EXPECT_FALSE(rig.job(ended[2]).contains("log_deleted"));
  eventually("the doctor says so", [&] {
    const std::string doctor = rig.text("/v1/doctor");
    return doctor.find("logs take 5 MiB at most") != std::string::npos &&
           doctor.find("logs of") != std::string::npos;
  });
  rig.folder().write("go", "");
}

TEST(Retention, TheLogsOfOneUserTakeNoMoreThanTheyMay) {
  const bool is_root = ::geteuid() == 0;  // whose own logs have no limit
  const uid_t user = is_root ? test::kNobody : ::geteuid();
  Rig rig({.config = kConfig});
  std::filesystem::permissions(rig.folder().path(), std::filesystem::perms(0755));
  rig.start();
  const auto submit = [&](const std::string& script) {
    Json body = {{"command", {"sh", "-c", "head -c 200000 /dev/zero; " + script}},
                 {"directory", "/"},
                 {"environment", {std::string("PATH=") + std::getenv("PATH")}}};
    body.update(test::kNoGpus);
    body.erase("vram_bytes");
    const auto answer = is_root ? test::request_as(rig, user, "POST", "/v1/jobs", body)
                                : rig.request("POST", "/v1/jobs", body);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return answer.body.value("id", 0);
  };
  const auto log_of = [&](int id) { return rig.state() + "/logs/" + std::to_string(id) + ".log"; };
  const int first = submit("true");
  rig.wait_end(first);
  const int second = submit("exec sleep 1000");
  const int third = submit("true");
  rig.wait_end(third);
  eventually("it wrote", [&] { return std::filesystem::file_size(log_of(second)) >= 200'000; });
  struct stat status{};
  ASSERT_EQ(::stat(log_of(third).c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, user);
  // Two logs may stay: the oldest goes that no running job writes.
  rig.folder().write("berth.toml", kConfig + "keep_user_logs_size = \"450KiB\"\n");
  ASSERT_EQ(rig.request("POST", "/v1/reload").status, 200);
  eventually("the first is gone", [&] { return !std::filesystem::exists(log_of(first)); });
  EXPECT_TRUE(std::filesystem::exists(log_of(third)));
  const std::string own = "\n[users." + std::to_string(user) + "]\nlogs = \"1KiB\"\n";
  rig.folder().write("berth.toml", kConfig + "keep_user_logs_size = \"450KiB\"" + own);
  ASSERT_EQ(rig.request("POST", "/v1/reload").status, 200);
  eventually("the third is gone", [&] { return !std::filesystem::exists(log_of(third)); });
  EXPECT_TRUE(std::filesystem::exists(log_of(second))) << "it runs";
  rig.request("POST", test::path(second, "/cancel"));
  EXPECT_EQ(rig.wait_end(second)["state"], "cancelled");
}

}  // namespace
}  // namespace berth::daemon
