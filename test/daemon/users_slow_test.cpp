// Goal: a process whose memory cannot be read, because a file system of its user does not
// answer, delays no other user's jobs, and its own user's not for ever. Method: such a file system
// (FUSE), a job that locks its memory by it, and shims that die meanwhile; as three local users.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "daemon/accounts.hpp"
#include "daemon/rig.hpp"
#include "shim/proc.hpp"
#include "support/unanswered.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::Rig;
using testing::HasSubstr;

std::string proc(pid_t pid, const std::string& file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

/// Whether a user can make a read of this file of /proc take any time.
bool hangs_on(const std::string& path) {
  const pid_t reader = ::fork();
  if (reader == 0) {
    const int file = ::open(path.c_str(), O_RDONLY);
    char byte = 0;
    ::_exit(::read(file, &byte, 1) >= 0 ? 0 : 1);
  }
  int status = 0;
  for (int tries = 0; tries < 100; ++tries) {
    if (::waitpid(reader, &status, WNOHANG) == reader) return false;
    ::usleep(5000);
  }
  ::kill(reader, SIGKILL);
  ::waitpid(reader, &status, 0);
  return true;
}

class UsersHang : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be several users";
    for (const auto* account : {&alice_, &bob_, &mallory_}) {
      if (!account->is_there()) GTEST_SKIP() << "no accounts can be made here";
    }
    rig_.emplace(test::RigOptions{.gpus = "1x24GiB"});
    users_.emplace(*rig_);
    const std::string folder = rig_->folder() / "mounted";
    std::filesystem::create_directory(folder);
    files_.emplace(folder);
    if (!files_->is_there()) GTEST_SKIP() << "no FUSE here, or we may not mount";
    rig_->start();
    const std::string job = users_->give(WILFUL_JOB);
    locks_ = users_->submit(mallory_, "echo pid $$; exec " + job + " lock-memory " + files_->file(),
                            "--vram 14G");
    eventually("it locks its memory",
               [&] { return rig_->log(locks_).find("locks\n") != std::string::npos; });
    locker_ = std::stoi(rig_->log(locks_).substr(4));
    eventually("it waits", [&] {
      const auto stat = shim::stat_of(locker_);
      return stat && (stat->state == 'D' || rig_->log(locks_).find("goes on") != std::string::npos);
    });
    if (!hangs_on(proc(locker_, "environ"))) {
      GTEST_SKIP() << "this kernel does not let it lock its memory";
    }
  }
  void TearDown() override { files_.reset(); }  // before the rig looks for remaining processes

  pid_t kill_shim_of(int id) {
    const pid_t shim = rig_->shim_of(id);
    ::kill(shim, SIGKILL);
    return shim;
  }

  test::Account alice_{"alice"};
  test::Account bob_{"bob"};
  test::Account mallory_{"mallory"};
  std::optional<Rig> rig_;
  std::optional<test::Users> users_;
  std::optional<test::Unanswered> files_;
  int locks_ = -1;
  pid_t locker_ = 0;
};

TEST_F(UsersHang, ALockedMemoryHoldsUpNobodyElsesEnd) {
  const int own = users_->submit(mallory_, "exec sleep 1000", "--vram 1G");
  const int bobs = users_->submit(bob_, "exec sleep 1000", "--vram 1G");
  for (const int id : {own, bobs}) rig_->wait_for(id, "running");
  kill_shim_of(own);
  ::usleep(200'000);  // the helper reads it by now
  kill_shim_of(bobs);
  EXPECT_EQ(rig_->wait_end(bobs)["state"], "lost");
  EXPECT_NE(rig_->job(own)["state"], "lost") << "mallory's was not held up: this tests nothing";
  // Her own other jobs are held up for a while, and no longer.
  const Json job = rig_->wait_end(own);
  EXPECT_EQ(job["state"], "lost");
  EXPECT_THAT(job["note"].get<std::string>(),
              HasSubstr("a process of its user's could not be looked at"));
  EXPECT_EQ(rig_->wait_end(users_->submit(alice_, "true"))["state"], "done");
}

TEST_F(UsersHang, AJobThatHangsIsGivenUp) {
  users_->run(mallory_, "berth cancel " + std::to_string(locks_));
  for (int tries = 0; tries < 1200 && rig_->job(locks_)["state"] == "stopping"; ++tries) {
    ::usleep(50'000);
  }
  const Json job = rig_->job(locks_);
  EXPECT_EQ(job["state"], "cancelled") << job;
  EXPECT_THAT(job["note"].get<std::string>(), HasSubstr("1 process hangs in the kernel"));
  EXPECT_TRUE(test::is_alive(locker_));
  // Its memory is others' to have.
  const int next = users_->submit(alice_, "true", "--vram 14G");
  EXPECT_EQ(rig_->wait_end(next)["state"], "done");
  files_.reset();
  eventually("let go, it ends", [&] { return !test::is_alive(locker_); });
}

TEST_F(UsersHang, ALockedMemorySurvivesNoRestartAsAHold) {
  const int bobs = users_->submit(bob_, "exec sleep 1000", "--vram 1G");
  const int own = users_->submit(mallory_, "exec sleep 1000", "--vram 1G");
  for (const int id : {own, bobs}) rig_->wait_for(id, "running");
  rig_->kill();
  for (const int id : {own, bobs}) kill_shim_of(id);
  rig_->start();
  EXPECT_EQ(rig_->wait_end(bobs)["state"], "lost");
  EXPECT_EQ(rig_->wait_end(own)["state"], "lost");
}

}  // namespace
}  // namespace berth
