// Goal: what a machine does to a daemon - a full disk, a slow driver, shims that die or hang before
// they begin, another daemon, folders of others - loses no job and runs none twice. Method: a
// real berthd whose files may not grow, whose spare shim is stopped or killed, or which finds
// something in its way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "daemon/rig.hpp"
#include "shim/proc.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::kNobody;
using test::path;
using test::pid_of;
using test::Rig;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<pid_t> living_children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto stat = shim::stat_of(std::atoi(entry.path().filename().c_str()));
    if (stat && stat->parent == parent && !shim::has_exited(*stat)) children.push_back(stat->pid);
  }
  return children;
}

std::string command_of(pid_t pid) {
  return test::read_file("/proc/" + std::to_string(pid) + "/cmdline");
}

/// The shim that waits for the next job, while there are no others. Stopped once it is one: before
/// that it would not come to wait.
pid_t stop_spare(Rig& rig) {
  std::vector<pid_t> children;
  eventually("a spare waits", [&] {
    children = living_children_of(pid_of(rig));
    return children.size() == 1 && command_of(children[0]).starts_with("berth-shim");
  });
  kill(children.at(0), SIGSTOP);
  eventually("it is stopped", [&] { return shim::stat_of(children[0])->state == 'T'; });
  return children[0];
}

/// No file of that process grows while it lives.
class FullDiskOf {
 public:
  explicit FullDiskOf(pid_t pid) : pid_(pid) {
    const rlimit small{.rlim_cur = 1, .rlim_max = RLIM_INFINITY};
    EXPECT_EQ(::prlimit(pid_, RLIMIT_FSIZE, &small, &before_), 0);
  }
  ~FullDiskOf() { ::prlimit(pid_, RLIMIT_FSIZE, &before_, nullptr); }

 private:
  pid_t pid_;
  rlimit before_{};
};

/// Until nothing more follows from a job's start: the next shim waits, two looks told nothing new.
void wait_for_quiet(Rig& rig, pid_t daemon) {
  eventually("the next shim waits", [&] { return living_children_of(daemon).size() == 2; });
  const auto sampled = [&] { return rig.request("GET", "/v1/gpus").body["gpus"][1]["sampled_at"]; };
  for (int looks = 0; looks < 2; ++looks) {
    const Json before = sampled();
    eventually("another look", [&] { return sampled() != before; });
  }
}

TEST(Trouble, AFullDiskRefusesAndForgetsNothing) {
  Rig rig;
  rig.start();
  const pid_t daemon = pid_of(rig);
  const int id = rig.submit("while [ ! -e go ]; do sleep 0.01; done; exit 4");
  rig.wait_for(id, "running");
  wait_for_quiet(rig, daemon);
  {
    const FullDiskOf full(daemon);
    Json body = {{"command", {"true"}}, {"directory", "/"}, {"environment", Json::array()}};
    const auto refused = rig.request("POST", "/v1/jobs", body);
    EXPECT_EQ(refused.status, 507) << refused.body;
    EXPECT_THAT(refused.body["error"].get<std::string>(), StartsWith("nothing was changed: "));
    const auto cancel = rig.request("POST", path(id, "/cancel"));
    EXPECT_EQ(cancel.status, 507) << cancel.body;
    EXPECT_EQ(rig.job(id)["state"], "running");
    rig.folder().write("go", "");  // it ends while no daemon can write that
    eventually("its shim ends", [&] { return !test::is_alive(rig.shim_of(id)); });
    EXPECT_EQ(rig.job(id)["state"], "running");
  }
  EXPECT_EQ(rig.wait_end(id)["exit_code"], 4);
  EXPECT_EQ(rig.submit("true"), id + 1);  // refused ones took no number
  const Json next = rig.wait_end(id + 1);
  EXPECT_EQ(next["state"], "done") << next;
}

/// Nothing of it ran, so it is tried again, not lost.
TEST(Trouble, AShimThatDiesBeforeItBeginsCostsNoJob) {
  Rig rig;
  rig.start();
  const pid_t spare = stop_spare(rig);
  const int id = rig.submit("echo once");
  kill(spare, SIGKILL);
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["state"], "done") << job;
  EXPECT_EQ(job["attempts"].size(), 2U);
  EXPECT_EQ(rig.log(id), "once\n");
}

/// As where other processes are all that there may be: fork fails then, as pipe(2) does here.
TEST(Trouble, AShimThatTheMachineGivesTooLittleCostsNoJob) {
  Rig rig;
  rig.start();
  const pid_t spare = stop_spare(rig);
  const rlimit few{.rlim_cur = 7, .rlim_max = 7};  // what it has, and the two files of its order
  ASSERT_EQ(prlimit(spare, RLIMIT_NOFILE, &few, nullptr), 0);
  const int id = rig.submit("echo once");
  kill(spare, SIGCONT);
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["state"], "done") << job;
  ASSERT_EQ(job["attempts"].size(), 2U) << job;
  EXPECT_EQ(job["attempts"][0]["note"], "was not started");
  EXPECT_EQ(rig.log(id), "once\n");
}

/// It holds its order, and will follow it when it continues: no other shim may.
TEST(Trouble, AShimThatHangsBeforeItBeginsIsWaitedFor) {
  Rig rig;
  rig.start();
  const pid_t spare = stop_spare(rig);
  const int id = rig.submit("echo once");
  rig.kill();
  rig.start();
  EXPECT_EQ(rig.job(id)["state"], "starting");
  const int other = rig.submit("echo other");  // others do not wait for it
  EXPECT_EQ(rig.wait_end(other)["state"], "done");
  kill(spare, SIGCONT);
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
  eventually("it ends", [&] { return !test::is_alive(spare); });
  EXPECT_EQ(rig.log(id), "once\n");
  EXPECT_EQ(rig.job(id)["attempts"].size(), 1U);
}

TEST(Trouble, ACancelReachesAShimThatHangsBeforeItBegins) {
  Rig rig;
  rig.start();
  const pid_t spare = stop_spare(rig);
  const int id = rig.submit("touch ran; sleep 1000");
  rig.kill();
  rig.start();
  EXPECT_EQ(rig.request("POST", path(id, "/cancel")).body["state"], "stopping");
  kill(spare, SIGCONT);
  EXPECT_EQ(rig.wait_end(id)["state"], "cancelled");
}

TEST(Trouble, AShimThatDiesBeforeItBeginsWhileNobodyLooksCostsNoJob) {
  Rig rig;
  rig.start();
  const pid_t spare = stop_spare(rig);
  const int id = rig.submit("echo once");
  rig.kill();
  rig.start();
  EXPECT_EQ(rig.job(id)["state"], "starting");
  kill(spare, SIGKILL);
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
  EXPECT_EQ(rig.log(id), "once\n");
}

/// A driver that takes longer for a look than looks are good for.
TEST(Trouble, ALookThatTakesLongerThanItLastsStillServes) {
  Rig rig({.gpus = "16x1GiB", .config = "probe = \"1us\"\ngrace = \"500ms\"\n"});
  rig.start();
  EXPECT_EQ(rig.wait_end(rig.submit("exit 2", {{"vram_bytes", 1 << 26}}))["exit_code"], 2);
}

TEST(Trouble, ASecondDaemonTakesNothingFromTheFirst) {
  Rig rig;
  rig.start();
  const auto refused = rig.start_refused({"--state", rig.folder() / "other"});
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_THAT(refused.err, HasSubstr("another berthd serves there"));
  const int id = rig.submit("sleep 1000");
  rig.wait_for(id, "running");
  EXPECT_TRUE(std::filesystem::exists(rig.socket() + ".report"));
  EXPECT_EQ(rig.request("POST", path(id, "/cancel")).status, 200);
  rig.wait_end(id);
}

TEST(Trouble, AStateThatOthersCanWriteIsRefused) {
  Rig rig;
  const std::string state = rig.folder() / "open";
  std::filesystem::create_directory(state);
  std::filesystem::permissions(state, std::filesystem::perms(0777));
  const auto refused = rig.start_refused({"--state", state});
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_THAT(refused.err, HasSubstr(state + ": every user may write there"));
}

/// Of the state's group as of everybody, and of the files in it as of the folder.
TEST(Trouble, AStateOfWhichAGroupOrAFileIsOpenIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a file to a group";
  Rig rig;
  const std::string state = rig.folder() / "open";
  std::filesystem::create_directory(state);
  ASSERT_EQ(::chown(state.c_str(), 0, kNobody), 0);
  ASSERT_EQ(::chmod(state.c_str(), 0770), 0);
  EXPECT_THAT(rig.start_refused({"--state", state}).err,
              HasSubstr(state + ": group 65534 may write there"));
  ASSERT_EQ(::chmod(state.c_str(), 0750), 0);
  const std::string journal = rig.folder().write("open/journal.db", "");
  ASSERT_EQ(::chmod(journal.c_str(), 0666), 0);
  EXPECT_THAT(rig.start_refused({"--state", state}).err,
              HasSubstr(journal + ": every user may write there"));
}

/// As `cp -r` and `sqlite3 journal.db ".backup ..."` make it.
TEST(Trouble, ACopyOfAStateIsClosedToOtherReaders) {
  Rig rig;
  rig.start();
  rig.wait_end(rig.submit("echo secret"));
  rig.stop();
  const std::vector<std::string> closed = {rig.journal(), rig.state() + "/logs",
                                           rig.state() + "/attempts", rig.state() + "/job-key"};
  for (const std::string& path : closed) {
    const mode_t execute = std::filesystem::is_directory(path) ? 0111 : 0;
    ASSERT_EQ(::chmod(path.c_str(), 0644 | execute), 0);
  }
  rig.start();
  for (const std::string& path : closed) {
    const mode_t execute = std::filesystem::is_directory(path) ? 0100 : 0;
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600 | execute) << path;
  }
  EXPECT_EQ(rig.log(1), "secret\n");
}

TEST(Trouble, AConfigurationThatCannotBeReadIsNamed) {
  Rig rig;
  const std::string folder = rig.folder().path().string();
  const auto refused = rig.start_refused({"--config", folder});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("berthd: " + folder + ": Is a directory"));
}

TEST(Trouble, AStateOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  Rig rig;
  const std::string state = rig.folder() / "theirs";
  std::filesystem::create_directories(state + "/attempts");
  ASSERT_EQ(::chown((state + "/attempts").c_str(), kNobody, kNobody), 0);
  const auto refused = rig.start_refused({"--state", state});
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_THAT(refused.err, HasSubstr("belongs to uid 65534, must be uid 0's"));
}

}  // namespace
}  // namespace berth
