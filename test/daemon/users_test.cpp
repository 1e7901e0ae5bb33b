// Goal: on a machine of several users each job belongs to its user alone: its streams, its
// keys, its signals, its processes, its memory. Method: a berthd of root's on emulated GPUs, three
// accounts made for the test, and `berth` as they would type it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "daemon/accounts.hpp"
#include "daemon/cgroup.hpp"
#include "daemon/rig.hpp"
#include "posix/keyring.hpp"
#include "shim/proc.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

namespace fs = std::filesystem;

using test::eventually;
using test::Json;
using test::quoted;
using test::Ran;
using test::Rig;
using test::RigOptions;
using testing::HasSubstr;
using testing::Not;

class UsersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be several users";
    for (const auto* account : {&alice_, &bob_, &mallory_}) {
      if (!account->is_there()) GTEST_SKIP() << "no accounts can be made here";
    }
    start({});
  }
  void start(const RigOptions& options) {
    rig_.reset();
    rig_.emplace(options);
    users_.emplace(*rig_);
    job_ = users_->give(WILFUL_JOB);
    rig_->start();
  }
  /// What a job wrote, once it has ended.
  std::string log_of(int id) {
    rig_->wait_end(id);
    return rig_->log(id);
  }
  std::string said(const test::Account& account, const std::string& script) {
    return log_of(users_->submit(account, script));
  }
  /// Waits for the line of a job that begins with this word. Returns: the number behind it.
  pid_t number_after(int id, const std::string& word) {
    pid_t number = 0;
    eventually(word + " of job " + std::to_string(id), [&] {
      const std::string log = rig_->log(id);
      const std::size_t at = log.find(word + " ");
      if (at == std::string::npos || log.find('\n', at) == std::string::npos) return false;
      number = std::stoi(log.substr(at + word.size() + 1));
      return true;
    });
    return number;
  }

  test::Account alice_{"alice"};
  test::Account bob_{"bob"};
  test::Account mallory_{"mallory"};
  std::optional<Rig> rig_;
  std::optional<test::Users> users_;
  std::string job_;
};

// ---- Streams ---------------------------------------------------------------------------------

constexpr auto kByName =
    "echo out >/dev/stdout; echo err >/dev/stderr; cat /dev/stdin; echo again >>/proc/self/fd/1";

TEST_F(UsersTest, StreamsOfASubmittedJobCanBeOpenedByName) {
  EXPECT_EQ(said(alice_, kByName), "out\nerr\nagain\n");
}

TEST_F(UsersTest, StreamsOfAnAttendedJobCanBeOpenedByName) {
  const Ran ran =
      users_->run(alice_, std::string("echo in | berth run --gpus 0 -- sh -c ") + quoted(kByName));
  EXPECT_EQ(ran.out, "out\nin\nagain\n");
  EXPECT_THAT(ran.err, HasSubstr("err\n"));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
}

TEST_F(UsersTest, StreamsOnATerminalCanBeOpenedByName) {
  const Ran ran = users_->run_on_terminal(
      alice_, "berth run --gpus 0 -- sh -c " +
                  quoted("test -t 0 && echo out >/dev/stdout; echo err >/dev/stderr; "
                         "stty size </dev/stdin >/dev/null && echo in"));
  for (const char* line : {"out\r\n", "err\r\n", "in\r\n"}) EXPECT_THAT(ran.out, HasSubstr(line));
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
}

TEST_F(UsersTest, StreamsAreNobodyElses) {
  const int id = users_->submit(alice_, "echo pid $$; exec sleep 1000");
  const std::string streams = "/proc/" + std::to_string(number_after(id, "pid")) + "/fd/";
  EXPECT_EQ(said(bob_, "(echo x >" + streams + "1) 2>/dev/null && echo written; (cat <" + streams +
                           "1) 2>/dev/null && echo read; true"),
            "");
  const std::string log = rig_->state() + "/logs/" + std::to_string(id) + ".log";
  EXPECT_EQ(said(alice_, "(echo x >>" + log + ") 2>/dev/null && echo written; true"), "");
  users_->run(alice_, "berth cancel " + std::to_string(id));
  EXPECT_THAT(log_of(id), Not(HasSubstr("x\n")));
}

// ---- Keys ------------------------------------------------------------------------------------

TEST_F(UsersTest, KeysOfAJobAreItsOwn) {
  if (session_keyring_error() != 0) GTEST_SKIP() << "no keyrings here";
  EXPECT_EQ(said(alice_, job_ + " key-add s token secret; " + job_ + " key-find token"),
            "added\nsecret\n");
  const int holds =
      users_->submit(alice_, job_ + " key-add s token secret; echo pid $$; exec sleep 1000");
  number_after(holds, "pid");
  for (const auto* account : {&alice_, &bob_, &mallory_}) {
    EXPECT_EQ(said(*account, job_ + " key-find token; true"),
              std::string(std::strerror(ENOKEY)) + "\n")
        << account->name();
  }
  EXPECT_THAT(said(bob_, job_ + " key-ring"),
              testing::StartsWith("keyring;" + std::to_string(bob_.user()) + ";"));
  users_->run(alice_, "berth cancel " + std::to_string(holds));
}

TEST_F(UsersTest, KeysOfAUserReachAllTheirJobsAndNobodyElses) {
  if (session_keyring_error() != 0) GTEST_SKIP() << "no keyrings here";
  // A user's keyring outlives the user: the next one with that number must not find this key.
  const std::string key = " mine-" + rig_->folder().path().filename().string();
  EXPECT_EQ(said(alice_, job_ + " key-add u" + key + " secret"), "added\n");
  EXPECT_EQ(said(alice_, job_ + " key-find" + key), "secret\n");
  EXPECT_EQ(said(bob_, job_ + " key-find" + key + "; true"),
            std::string(std::strerror(ENOKEY)) + "\n");
}

TEST_F(UsersTest, KeysOfWhoStartedBerthdReachNoJob) {
  if (join_own_session_keyring() != 0) GTEST_SKIP() << "no keyrings here";
  const std::string value = "secret";
  ASSERT_GT(::syscall(SYS_add_key, "user", "of-root", value.data(), value.size(),
                      KEY_SPEC_SESSION_KEYRING),
            0);
  rig_->stop();
  rig_->start();
  EXPECT_EQ(said(mallory_, job_ + " key-find of-root; true"),
            std::string(std::strerror(ENOKEY)) + "\n");
  // Its own jobs neither: berthd has left that keyring itself.
  rig_->kill();
  rig_->start();
  const int id =
      rig_->submit({{job_, "key-find", "of-root"}, {{"gpus", 0}, {"vram_bytes", nullptr}}});
  EXPECT_EQ(log_of(id), std::string(std::strerror(ENOKEY)) + "\n");
}

TEST_F(UsersTest, TheDoctorSaysWhetherKeysAreKeptApart) {
  const Ran ran = users_->run(alice_, "berth doctor");
  EXPECT_THAT(ran.out,
              HasSubstr(session_keyring_error() == 0 ? "each job has a session keyring of its own"
                                                     : "jobs get no session keyring of their own"));
}

// ---- Signals ---------------------------------------------------------------------------------

/// A program that becomes root's altogether, as sudo does; nothing where that is not obeyed.
std::optional<std::string> set_user_id_program(const std::string& job) {
  const std::string path = job + "-root";
  fs::copy_file(job, path);
  if (::chmod(path.c_str(), 04755) != 0) return std::nullopt;
  const int became = test::as_user(65534, [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(1);
      ::alarm(1);
      ::execl(path.c_str(), path.c_str(), "become-root", nullptr);
      ::_exit(1);
    }
    // Root's alone, it cannot be signalled, and its own alarm ends it.
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? 0 : 1;
  });
  return became == 0 ? std::optional(path) : std::nullopt;
}

TEST_F(UsersTest, SignalsThroughBerthRunReachOnlyWhomTheUserCouldSignal) {
  const auto program = set_user_id_program(job_);
  if (!program) GTEST_SKIP() << "programs are not run as their owner here";
  // The job's own group holds a process of root's and one of the user's.
  const std::string tree = "trap 'echo mine' TERM; " + *program +
                           " become-root & echo root $!; while :; do sleep 0.02; done";
  const Ran ran =
      users_->run(alice_, "cd $(mktemp -d) || exit; berth run --gpus 0 -- sh -c " + quoted(tree) +
                              " >out 2>&1 & run=$!; until grep -q ready out; do sleep 0.02; done; "
                              "kill -TERM $run; until grep -q mine out; do sleep 0.02; done; "
                              "berth cancel --all; wait $run; cat out; rm -r $PWD");
  EXPECT_THAT(ran.out, HasSubstr("ready\n"));
  EXPECT_THAT(ran.out, HasSubstr("mine\n"));
  EXPECT_THAT(ran.out, Not(HasSubstr("got "))) << ran.out;
  // Its end is berth's: the place is free again, and nothing is left.
  const std::size_t at = ran.out.find("root ");
  ASSERT_NE(at, std::string::npos) << ran.out << ran.err;
  EXPECT_FALSE(test::is_alive(std::stoi(ran.out.substr(at + 5))));
}

TEST_F(UsersTest, ACancelAsksOnlyWhomTheUserCouldSignalAndEndsAll) {
  const auto program = set_user_id_program(job_);
  if (!program) GTEST_SKIP() << "programs are not run as their owner here";
  const int id = users_->submit(alice_, *program + " become-root & echo root $!; wait");
  const pid_t root = number_after(id, "root");
  eventually("it is root's", [&] { return rig_->log(id).find("ready\n") != std::string::npos; });
  EXPECT_EQ(users_->run(alice_, "berth cancel " + std::to_string(id)).exit_code, 0);
  EXPECT_THAT(log_of(id), Not(HasSubstr("got ")));
  EXPECT_FALSE(test::is_alive(root));
}

// ---- Processes -------------------------------------------------------------------------------

TEST_F(UsersTest, GpuMemoryFarDownInAJobIsTheJobs) {
  const std::string load = test::program("berth-load").string();
  if (users_->run(alice_, "test -x " + load).exit_code != 0) {
    GTEST_SKIP() << load << " is not for other users to run";
  }
  const int id = users_->submit(
      alice_, job_ + " deep 300 " + load + " --vram 2GiB --steps 100000 --step-ms 100",
      "--vram 1G");
  Json gpu;
  eventually("all its memory is seen", [&] {
    const Json all = rig_->request("GET", "/v1/gpus").body;
    for (const Json& one : all["gpus"]) {
      if (!one["tenants"].empty()) gpu = one;
    }
    if (gpu.is_null()) return false;
    const Json& used = gpu["tenants"][0]["used_bytes"];  // null until it was measured
    return !gpu["foreign"].empty() || (used.is_number() && used >= std::int64_t{2} << 30);
  });
  EXPECT_TRUE(gpu["foreign"].empty()) << gpu;
  EXPECT_GE(gpu["tenants"][0]["used_bytes"].get<std::int64_t>(), std::int64_t{2} << 30) << gpu;
  users_->run(alice_, "berth cancel " + std::to_string(id));
  rig_->wait_end(id);
}

/// A script that leaves a process which neither its session nor its environment gives away.
constexpr auto kHides = "env -i setsid sh -c 'echo hidden $$; exec sleep 1000' & wait; sleep 1000";

TEST_F(UsersTest, AKilledShimsHiddenProcessesAreToldOf) {
  const int id = users_->submit(alice_, kHides);
  const pid_t hidden = number_after(id, "hidden");
  ::kill(rig_->shim_of(id), SIGKILL);
  const Json job = rig_->wait_end(id);
  EXPECT_EQ(job["state"], "lost");
  EXPECT_THAT(job["note"].get<std::string>(),
              HasSubstr("without `cgroup`, one that has left its session and its environment is "
                        "not found and goes on"));
  EXPECT_TRUE(test::is_alive(hidden));
  ::kill(hidden, SIGKILL);
}

TEST_F(UsersTest, AKilledShimsHiddenProcessesEndWithItsCgroup) {
  const test::Cgroup cgroup;
  if (cgroup.path().empty()) GTEST_SKIP() << "no cgroup v2 can be made here";
  start({.config = "probe = \"100ms\"\ncgroup = \"" + cgroup.path() + "\"\n"});
  const int id = users_->submit(alice_, kHides);
  const pid_t hidden = number_after(id, "hidden");
  ::kill(rig_->shim_of(id), SIGKILL);
  const Json job = rig_->wait_end(id);
  EXPECT_EQ(job["state"], "lost");
  EXPECT_THAT(job["note"].get<std::string>(), HasSubstr("all in its cgroup was ended"));
  EXPECT_FALSE(test::is_alive(hidden));
  // A daemon that only finds the shim dead does the same.
  const int next = users_->submit(bob_, kHides);
  const pid_t other = number_after(next, "hidden");
  rig_->kill();
  ::kill(rig_->shim_of(next), SIGKILL);
  rig_->start();
  EXPECT_EQ(rig_->wait_end(next)["state"], "lost");
  EXPECT_FALSE(test::is_alive(other));
  eventually("no cgroup of an attempt is left", [&] { return cgroup.groups().empty(); });
  rig_.reset();
}

// ---- Limits of the kernel --------------------------------------------------------------------

TEST_F(UsersTest, TheKernelKeepsEachUsersJobToWhatItAskedFor) {
  const test::Cgroup cgroup;
  if (cgroup.path().empty()) GTEST_SKIP() << "no cgroup v2 can be made here";
  if (!fs::exists(cgroup.path() + "/memory.max") || !fs::exists(cgroup.path() + "/pids.max") ||
      !fs::exists(cgroup.path() + "/cpu.max")) {
    GTEST_SKIP() << "this kernel's cgroup v2 limits nothing; tools/kernel-check runs one that does";
  }
  start({.config = "probe = \"100ms\"\ncgroup = \"" + cgroup.path() + "\"\n"});
  // Bob's job stays throughout; what the others' jobs do is not his trouble.
  const int bobs = users_->submit(bob_, "echo pid $$; exec sleep 1000",
                                  "--gpus 0 --cpus 0.25 --mem 64M --pids 20");
  number_after(bobs, "pid");
  const int takes_memory = users_->submit(
      alice_, "head -c 300m /dev/zero | tail -c 300m >/dev/null", "--gpus 0 --cpus 0.25 --mem 64M");
  Json job = rig_->wait_end(takes_memory);
  EXPECT_EQ(job["exit_code"], 137) << job;
  EXPECT_THAT(job["note"].get<std::string>(), HasSubstr("its host memory passed 64 MiB (--mem)"));
  const int forks = users_->submit(mallory_, "for i in 1 2 3 4 5 6 7 8; do sleep 1 & done; wait",
                                   "--gpus 0 --cpus 0.25 --pids 4");
  EXPECT_THAT(rig_->wait_end(forks)["note"].get<std::string>(),
              HasSubstr("it was refused more processes than 4 (--pids)"));
  // Two busy loops get a fourth of a core: the kernel holds them back in each period.
  const int spins =
      users_->submit(alice_,
                     "group=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup); echo pid $$; "
                     "(while :; do :; done) & (while :; do :; done) & "
                     "until grep -q '^nr_throttled [1-9]' $group/cpu.stat; do sleep 0.05; done; "
                     "kill %1 %2; echo held back",
                     "--gpus 0 --cpus 0.25");
  EXPECT_THAT(log_of(spins), HasSubstr("held back"));
  // A user cannot raise the limits of their own job, nor leave its group.
  const std::string tries =
      said(mallory_,
           "group=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup); "
           "for file in memory.max pids.max cpu.max cgroup.procs ../cgroup.procs; do "
           "test -e $group/$file || echo no $file; "
           "(echo 0 >$group/$file) 2>/dev/null && echo wrote $file; done; echo tried");
  EXPECT_EQ(tries, "tried\n");
  EXPECT_EQ(rig_->request("GET", test::path(bobs)).body["state"], "running");
  users_->run(bob_, "berth cancel " + std::to_string(bobs));
  EXPECT_EQ(rig_->wait_end(bobs)["state"], "cancelled");
  rig_.reset();
}

}  // namespace
}  // namespace berth
