// Goal: whoever changes something leaves a line with who, what and what came of it; the log is
// bounded; the system's journal gets the same as fields; GPUs that the configuration leaves out
// stay out. Method: a log of a folder and a socket of the test's, and a berthd.
#include "daemon/notices/audit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <filesystem>
#include <sstream>

#include "daemon/rig.hpp"

namespace berth::daemon {
namespace {

using test::Json;
using test::Rig;
using test::slurp;
using testing::HasSubstr;
using testing::Not;

std::vector<Json> lines_of(const std::string& path) {
  std::vector<Json> lines;
  std::istringstream text(slurp(path));
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  return lines;
}

Audit::Record cancelled(int job) {
  return {.peer = {.pid = 9, .user = 0, .group = 0, .groups = {}},
          .request = "POST /v1/jobs/" + std::to_string(job) + "/cancel",
          .asked = "",
          .owner = UserId(65534),
          .status = 200,
          .answer = R"({"id":7,"state":"stopping"})"};
}

/// As logrotate moves it, and as somebody removes it.
TEST(AuditTest, ALogThatIsNotInItsPlaceIsBegunAnew) {
  test::ScratchFolder folder;
  const std::string path = folder / "audit.jsonl";
  Audit audit({.path = path});
  audit.add(cancelled(7));
  std::filesystem::rename(path, folder / "moved");
  audit.add(cancelled(8));
  std::filesystem::remove(path);
  audit.add(cancelled(9));
  ASSERT_EQ(lines_of(folder / "moved").size(), 1U);
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["job"], 9);
}

TEST(AuditTest, WhatCameOfARequestOfSeveralIsWhatCameOfEach) {
  test::ScratchFolder folder;
  Audit audit({.path = folder / "audit.jsonl"});
  Audit::Record asked = cancelled(7);
  asked.request = "POST /v1/cancel";
  asked.owner.reset();
  for (const char* const answer :
       {R"({"jobs":[],"refused":[{"handle":"132","error":"job 132: belongs to bob"}]})",
        R"({"jobs":[{"id":134,"state":"stopping"}]})",
        R"({"jobs":[{"id":1},{"id":2}],"refused":[{"handle":"x","error":"no"}]})",
        R"({"jobs":[{"job":3},4],"refused":[5]})"}) {
    asked.answer = answer;
    audit.add(asked);
  }
  const auto lines = lines_of(folder / "audit.jsonl");
  ASSERT_EQ(lines.size(), 4U) << "the last has no numbers";
  EXPECT_EQ(lines[0]["outcome"], "refused");
  EXPECT_EQ(lines[0]["job"], 132);
  EXPECT_EQ(lines[0]["why"], "job 132: belongs to bob");
  EXPECT_EQ(lines[1]["outcome"], "done");
  EXPECT_EQ(lines[1]["job"], 134);
  EXPECT_EQ(lines[2]["outcome"], "done");
  EXPECT_EQ(lines[2]["changed"], Json({1, 2}));
  EXPECT_EQ(lines[2]["refused"], 1);
  EXPECT_FALSE(lines[2].contains("job"));
}

TEST(AuditTest, ALineSaysWhoDidWhatToWhoseJobAndWhatCameOfIt) {
  test::ScratchFolder folder;
  Audit audit({.path = folder / "audit.jsonl"});
  audit.add(cancelled(7));
  Audit::Record refused = cancelled(8);
  refused.status = 403;
  refused.answer = R"({"error":"job 8: belongs to nobody"})";
  audit.add(refused);
  const auto lines = lines_of(folder / "audit.jsonl");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["user"], "root");
  EXPECT_EQ(lines[0]["uid"], 0);
  EXPECT_EQ(lines[0]["what"], "cancel");
  EXPECT_EQ(lines[0]["job"], 7);
  EXPECT_EQ(lines[0]["owner"], "nobody");
  EXPECT_EQ(lines[0]["outcome"], "done");
  EXPECT_FALSE(lines[0].contains("why"));
  EXPECT_THAT(lines[0]["at"].get<std::string>(),
              testing::MatchesRegex("20..-..-..T..:..:..\\.......Z"));
  EXPECT_EQ(lines[1]["outcome"], "refused");
  EXPECT_EQ(lines[1]["why"], "job 8: belongs to nobody");
  struct stat status{};
  ASSERT_EQ(::stat((folder / "audit.jsonl").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST(AuditTest, GrowsNoFurtherThanItsCapAndKeepsTheLatest) {
  test::ScratchFolder folder;
  const std::string path = folder / "audit.jsonl";
  constexpr std::int64_t kCap = 20'000;
  {
    Audit audit({.path = path, .cap = Bytes(kCap)});
    for (int i = 1; i <= 500; ++i) audit.add(cancelled(i));
  }
  Audit audit({.path = path, .cap = Bytes(kCap)});  // it goes on where the one before ended
  audit.add(cancelled(501));
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path) +
                                              std::filesystem::file_size(path + ".1"));
  EXPECT_LE(size, kCap);
  EXPECT_GT(size, kCap / 2);
  EXPECT_EQ(lines_of(path).back()["job"], 501);
  EXPECT_EQ(lines_of(path + ".1").back()["job"].get<int>() + 1, lines_of(path).front()["job"]);
}

TEST(AuditTest, TheJournalGetsFields) {
  test::ScratchFolder folder;
  const std::string path = folder / "journal";
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  Audit audit({.path = folder / "audit.jsonl", .journal = path});
  audit.add(cancelled(7));
  std::array<char, 4096> bytes{};
  const ssize_t got = ::recv(socket.number(), bytes.data(), bytes.size(), 0);
  ASSERT_GT(got, 0);
  const std::string fields(bytes.data(), static_cast<std::size_t>(got));
  EXPECT_THAT(fields, HasSubstr("MESSAGE=root: cancel job 7: done\n"));
  EXPECT_THAT(fields, HasSubstr("BERTH_JOB=7\n"));
  EXPECT_THAT(fields, HasSubstr("BERTH_OUTCOME=done\n"));
}

TEST(AuditTest, RequestsOfBerthdAreInIt) {
  Rig rig;
  rig.start();
  const int id = rig.submit("true", {{"gpus", 0}, {"vram_bytes", nullptr}, {"held", true}});
  rig.request("POST", test::path(id, "/update"), {{"priority", 5}});
  rig.request("POST", test::path(id, "/cancel"));
  rig.request("POST", test::path(999, "/cancel"));
  rig.request("POST", "/v1/drain", {{"gpus", {0}}, {"reason", "dust"}});
  rig.request("POST", "/v1/jobs?dry_run=1", {{"command", {"true"}}});
  rig.text("/v1/jobs");
  const std::string text = slurp(rig.state() + "/audit.jsonl");
  const auto lines = lines_of(rig.state() + "/audit.jsonl");
  ASSERT_EQ(lines.size(), 5U) << text;
  EXPECT_EQ(lines[0]["what"], "submit");
  EXPECT_EQ(lines[0]["job"], id);
  EXPECT_THAT(text, Not(HasSubstr("PATH="))) << "environments are in no log";
  EXPECT_EQ(lines[1]["asked"]["priority"], 5);
  EXPECT_EQ(lines[2]["what"], "cancel");
  EXPECT_EQ(lines[3]["outcome"], "refused");
  EXPECT_EQ(lines[3]["why"], "job 999: no such job");
  EXPECT_EQ(lines[4]["asked"]["reason"], "dust");
}

/// Whether a request changes something is a question of what it does, and not of a word in it.
TEST(AuditTest, NothingThatARequestSaysKeepsItOutOfTheLog) {
  Rig rig;
  rig.start();
  const int id = rig.submit("true", {{"gpus", 0}, {"vram_bytes", nullptr}, {"held", true}});
  for (const char* const query : {"?dry_run", "?dry_run=1", "?dry_run=true", "?dry_run=0"}) {
    rig.request("POST", test::path(id, "/update") + query, {{"priority", 5}});
    rig.request("POST", std::string("/v1/drain") + query, {{"gpus", {0}}, {"reason", "dust"}});
    rig.request("POST", std::string("/v1/undrain") + query, {{"gpus", {0}}});
    rig.request("POST", std::string("/v1/reload") + query);
  }
  EXPECT_EQ(lines_of(rig.state() + "/audit.jsonl").size(), 17U);
  for (const char* const query : {"?dry_run=0", "?dry_run=false", "?dry_run=maybe"}) {
    const Json body = {{"command", {"true"}},
                       {"directory", "/"},
                       {"environment", Json::array()},
                       {"gpus", 0},
                       {"held", true}};
    rig.request("POST", std::string("/v1/jobs") + query, body);
  }
  rig.request("POST", test::path(id, "/cancel?dry_run=1"));
  const auto lines = lines_of(rig.state() + "/audit.jsonl");
  ASSERT_EQ(lines.size(), 21U);
  EXPECT_EQ(lines[17]["outcome"], "done");
  EXPECT_EQ(lines[18]["outcome"], "done");
  EXPECT_EQ(lines[19]["outcome"], "refused");
  EXPECT_EQ(lines[20]["what"], "cancel");
}

TEST(AuditTest, PaddingHidesNothingOfWhatWasAsked) {
  Rig rig;
  rig.start();
  Json drain = {{"gpus", Json::array()}, {"reason", "du st"}};
  for (int i = 0; i < 1000; ++i) drain["gpus"].push_back(0);
  rig.request("POST", "/v1/drain", drain);
  const auto lines = lines_of(rig.state() + "/audit.jsonl");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0]["asked"].dump(), HasSubstr("0,0,0,0"));
}

// ---- Excluded GPUs ---------------------------------------------------------------------------

/// A slip of the finger, as counting from 1.
TEST(Exclude, AGpuThatThereIsNotIsWarnedOf) {
  Rig rig({.config = "exclude = [7]\n"});
  rig.start();
  const Json checks = rig.request("GET", "/v1/doctor").body["checks"];
  for (const Json& check : checks) {
    if (check["name"] != "gpus") continue;
    EXPECT_EQ(check["status"], "warn");
    EXPECT_EQ(check["detail"], "usable, but for those that `exclude` names: 7 (there is none)");
    return;
  }
  FAIL() << "doctor looks at no GPUs";
}

TEST(Exclude, AGpuThatIsLeftOutTakesNoJobUntilTheConfigurationSaysOtherwise) {
  const std::string base = "probe = \"100ms\"\ngrace = \"500ms\"\n";
  Rig rig({.config = base + "exclude = [0]\n"});
  rig.start();
  const int first = rig.submit(test::kUntilGo, {{"vram_bytes", "20GiB"}});
  EXPECT_EQ(rig.wait_for(first, "running")["gpus"], Json({1}));
  const int second = rig.submit(test::kUntilGo, {{"vram_bytes", "20GiB"}});
  test::eventually("it says why", [&] {
    return rig.job(second)["reason"].get<std::string>().find(
               "GPU 0 was not given to berthd (`exclude` in berth.toml)") != std::string::npos;
  });
  const auto undrained = rig.request("POST", "/v1/undrain", {{"gpus", {0}}});
  EXPECT_EQ(undrained.status, 409);
  EXPECT_THAT(undrained.body["error"].get<std::string>(),
              HasSubstr("GPU 0: was not given to berthd (`exclude` in berth.toml)"));
  rig.kill();
  rig.start();
  EXPECT_EQ(rig.job(second)["state"], "queued");
  rig.folder().write("berth.toml", base);
  EXPECT_EQ(rig.request("POST", "/v1/reload").status, 200);
  EXPECT_EQ(rig.wait_for(second, "running")["gpus"], Json::array({0}));
  rig.folder().write("go", "");
}

TEST(Barred, AUserSubmitsNoJobsUntilTheConfigurationSaysOtherwise) {
  const std::string user = "[users." + std::to_string(::geteuid()) + "]\nsubmit = false\n";
  Rig rig({.config = user});
  rig.start();
  const Json body = {{"command", {"true"}}, {"directory", "/"}, {"environment", Json::array()}};
  const auto refused = rig.request("POST", "/v1/jobs", body);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body["error"].get<std::string>(),
              HasSubstr("may submit no jobs here: the administrator has it so (submit = false)"));
  rig.folder().write("berth.toml", "");
  EXPECT_EQ(rig.request("POST", "/v1/reload").status, 200);
  EXPECT_EQ(rig.request("POST", "/v1/jobs", body).status, 201);
  rig.wait_end(1);
}

}  // namespace
}  // namespace berth::daemon
