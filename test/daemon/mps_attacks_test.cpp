// Goal: what a user does to the server of their own MPS jobs, whose folder and programs are theirs,
// costs nobody else anything: doc/security.md. Method: a real berthd of root's on emulated GPUs
// with the emulated control daemon, and two other users, one of whom attacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "daemon/rig.hpp"
#include "shim/proc.hpp"

namespace berth {
namespace {

using test::as_user;
using test::eventually;
using test::Json;
using test::kGiB;
using test::request_as;
using test::Rig;

constexpr uid_t kHonest = 54322;
constexpr uid_t kHostile = 54323;

class MpsAttacks : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::others_run_programs()) GTEST_SKIP() << test::kNeedsOthers;
    std::filesystem::permissions(rig_.folder().path(), std::filesystem::perms(0711));
    rig_.start();
  }
  int submit_as(uid_t user, const std::string& script, const Json& more) {
    Json body = {{"command", {"sh", "-c", script}},
                 {"directory", "/"},
                 {"environment", {"PATH=/usr/bin:/bin"}}};
    body.update(more);
    const auto answer = request_as(rig_, user, "POST", "/v1/jobs", body);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return answer.status == 201 ? answer.body["id"].get<int>() : -1;
  }
  int client_of_hostile(const std::string& script) {
    return submit_as(kHostile, script,
                     {{"share", "mps"}, {"vram_bytes", 3 * kGiB}, {"gpu_indices", {0}}});
  }
  /// The honest user is served as if nobody else were there.
  void expect_served() {
    const int id = submit_as(kHonest, "true", {{"gpus", 0}});
    EXPECT_EQ(rig_.wait_end(id)["state"], "done");
  }
  std::string pid_file() const {
    return rig_.state() + "/mps/" + std::to_string(kHostile) + "-0/nvidia-cuda-mps-control.pid";
  }
  pid_t control() const {
    pid_t pid = 0;
    std::ifstream(pid_file()) >> pid;
    return pid;
  }
  /// Once a first job has made the folder.
  void make_folder() {
    rig_.wait_end(client_of_hostile("true"));
    eventually("its server is gone", [&] { return !std::filesystem::exists(pid_file()); });
  }

  Rig rig_{{.gpus = "2x24GiB", .flags = {"--policy", "fifo-skip"}}};
};

TEST_F(MpsAttacks, APipeInPlaceOfAServersFileStopsNobody) {
  make_folder();
  const auto lay = [&] { return ::mkfifo(pid_file().c_str(), 0666); };
  ASSERT_EQ(as_user(kHostile, lay), 0);
  const int id = client_of_hostile("sleep 0.2");
  expect_served();
  EXPECT_EQ(rig_.wait_end(id)["state"], "done");
  expect_served();
}

TEST_F(MpsAttacks, ALinkInPlaceOfAServersFileLeadsNowhere) {
  make_folder();
  rig_.folder().write("pid", "1\n");
  const std::string other = rig_.folder() / "pid";
  const auto lay = [&] { return ::symlink(other.c_str(), pid_file().c_str()); };
  ASSERT_EQ(as_user(kHostile, lay), 0);
  const int id = client_of_hostile("sleep 0.2");
  expect_served();
  EXPECT_EQ(rig_.wait_end(id)["state"], "done");
  EXPECT_EQ(test::slurp(other), "1\n");
}

TEST_F(MpsAttacks, AStoppedControlProgramDelaysNobodyAndIsEnded) {
  const int id = client_of_hostile("sleep 1000");
  rig_.wait_for(id, "running");
  const pid_t server = control();
  ASSERT_GT(server, 1);
  ASSERT_EQ(as_user(kHostile, [&] { return ::kill(server, SIGSTOP); }), 0);
  EXPECT_EQ(rig_.request("POST", test::path(id, "/cancel")).status, 200);
  rig_.wait_end(id);
  expect_served();
  eventually("it is ended", [&] { return !test::is_alive(server); });
}

TEST_F(MpsAttacks, AServerThatItsUserEndsIsStartedAgain) {
  const int first = client_of_hostile("sleep 1000");
  rig_.wait_for(first, "running");
  const pid_t server = control();
  ASSERT_EQ(as_user(kHostile, [&] { return ::kill(server, SIGKILL); }), 0);
  eventually("it is gone", [&] { return !test::is_alive(server); });
  const int second = client_of_hostile("sleep 1000");
  rig_.wait_for(second, "running");
  EXPECT_NE(control(), server);
  EXPECT_TRUE(test::is_alive(control()));
  expect_served();
}

/// One that waits for its server holds no end up.
TEST_F(MpsAttacks, AJobIsCancelledWhileItsServerStarts) {
  make_folder();
  for (int i = 0; i < 5; ++i) {
    const int id = client_of_hostile("sleep 1000");
    EXPECT_EQ(rig_.request("POST", test::path(id, "/cancel")).status, 200);
    EXPECT_EQ(rig_.wait_end(id)["state"], "cancelled");
  }
  eventually("no server stays", [&] { return !std::filesystem::exists(pid_file()); });
}

}  // namespace
}  // namespace berth
