// Goal: when a shim says that a job ended, nothing of the job is left, whatever the job did; and it
// ends when it is told to.
// Method: the real program and jobs that hide, ignore and linger. Jobs tell by a named pipe when
// they are where a test wants them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "shim/support.hpp"

namespace berth::shim::test {
namespace {

using Clock = std::chrono::steady_clock;

/// Process ids in the job's output, one per line.
std::vector<pid_t> pids_in(const std::string& text) {
  std::istringstream words(text);
  std::vector<pid_t> pids;
  for (pid_t pid = 0; words >> pid;) pids.push_back(pid);
  return pids;
}

void expect_all_gone(const std::vector<pid_t>& pids, std::size_t count) {
  EXPECT_EQ(pids.size(), count);
  for (const pid_t pid : pids) EXPECT_TRUE(is_gone(pid)) << pid;
}

TEST(Leftovers, ThatHideInSessionsOfTheirOwnAreGone) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  const std::string ready = " echo ready >" + told.path();
  daemon.start(
      daemon.shell("sleep 1000 & echo $!\n"
                   "setsid sleep 1000 & echo $!\n"
                   "( (setsid sh -c 'echo $$; sleep 1000 & echo $!;" +
                   ready + "; wait' &) )\nread line <" + told.path() + "\nexit 6"));
  daemon.started();
  const Ended ended = daemon.ended();
  EXPECT_EQ(ended.exit.number, 6);
  EXPECT_EQ(ended.note, "ended 4 processes left behind");
  expect_all_gone(pids_in(daemon.log()), 4);
}

/// As helpers of Python's multiprocessing do once a pipe to them is closed. A busy machine may keep
/// one from it for longer than it is given, but not each of many.
TEST(Leftovers, ThatEndWithTheJobByThemselvesMayTidyUp) {
  std::string note;
  bool is_tidy = false;
  for (int tries = 0; tries < 20 && !is_tidy; ++tries) {
    Daemon daemon;
    note = daemon
               .run(daemon.shell("mkfifo held; (read line; sleep 0.5; echo >tidy) <held &\n"
                                 "exec 9>held; exit 0"))
               .note;
    is_tidy = std::filesystem::exists(daemon.folder() / "tidy");
  }
  EXPECT_TRUE(is_tidy);
  EXPECT_EQ(note, "");
}

TEST(Leftovers, ThatIgnoreTheSignalAreKilled) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  Order order = daemon.shell("setsid sh -c 'trap \"\" TERM; echo $$; echo ready >" + told.path() +
                             "; while :; do sleep 1000; done' &\nread line <" + told.path());
  order.grace_millis = 50;
  const Ended ended = daemon.run(order);
  EXPECT_EQ(ended.exit.kind, Exit::Kind::Code);
  expect_all_gone(pids_in(daemon.log()), 1);
}

TEST(Leftovers, MayStillSpeakBeforeTheyEnd) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  daemon.run(
      daemon.shell("exec 2>/dev/null; sh -c 'trap \"echo last words; exit\" TERM; echo ready >" +
                   told.path() + "; while :; do sleep 0.01; done' &\nread line <" + told.path()));
  EXPECT_EQ(daemon.log(), "last words\n");
}

TEST(Stop, AsksTheWholeTree) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  daemon.start(
      daemon.shell("exec 2>/dev/null; trap 'echo asked; exit 9' TERM\n"
                   "setsid sh -c 'trap \"echo asked; exit\" TERM; echo ready >" +
                   told.path() +
                   "; while :; do sleep 0.01; done' &\n"
                   "while :; do sleep 0.01; done"));
  daemon.started();
  EXPECT_EQ(told.line(), "ready");
  daemon.signal(kStopSignal);
  const Ended ended = daemon.ended();
  EXPECT_EQ(ended.exit.kind, Exit::Kind::Code);
  EXPECT_EQ(ended.exit.number, 9);
  EXPECT_EQ(daemon.log(), "asked\nasked\n");
}

/// The shell dies at once, and what it ran is no leftover.
TEST(Stop, LeavesTheWholeGraceToWhatAShellRan) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  Order order =
      daemon.shell("sh -c 'trap \"sleep 2.5; echo saved; exit\" TERM; echo ready >" + told.path() +
                   "; while :; do sleep 0.01; done' 2>/dev/null; echo never");
  order.grace_millis = 600'000;
  daemon.start(order);
  daemon.started();
  EXPECT_EQ(told.line(), "ready");
  daemon.signal(kStopSignal);
  const Ended ended = daemon.ended();
  EXPECT_EQ(ended.exit.number, SIGTERM);
  EXPECT_EQ(ended.note, "");
  EXPECT_EQ(daemon.log(), "saved\n");
}

TEST(Stop, ReachesAStoppedJob) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  daemon.start(daemon.shell("echo ready >" + told.path() + "; kill -STOP $$"));
  daemon.started();
  EXPECT_EQ(told.line(), "ready");
  daemon.signal(kStopSignal);
  EXPECT_EQ(daemon.ended().exit.number, SIGTERM);
}

TEST(Stop, KillsWhatIgnoresItAfterTheGrace) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  Order order = daemon.shell("trap '' TERM; echo $$; sleep 1000 & echo $!; echo ready >" +
                             told.path() + "; while :; do wait; done");
  order.grace_millis = 100;
  daemon.start(order);
  daemon.started();
  EXPECT_EQ(told.line(), "ready");
  const auto asked = Clock::now();
  daemon.signal(kStopSignal);
  const Ended ended = daemon.ended();
  EXPECT_GE(Clock::now() - asked, std::chrono::milliseconds(100));
  EXPECT_EQ(ended.exit.kind, Exit::Kind::Signal);
  EXPECT_EQ(ended.exit.number, SIGKILL);
  EXPECT_EQ(ended.note, "killed, as it had not ended 0.1s after it was told to");
  expect_all_gone(pids_in(daemon.log()), 2);
}

/// A job that saves on SIGUSR1, below a shell that would die of it.
constexpr const char* kSaver =
    "sh -c 'trap \"echo saved >state; exit 0\" USR1; echo ready >$0; while :; do sleep 0.01; "
    "done' ";

TEST(Save, ReachesThoseThatHearItAndNoOther) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  Order order = daemon.shell(kSaver + told.path() + "; echo the shell lives; exit 5");
  order.save_signal = SIGUSR1;
  order.save_grace_millis = 600'000;
  daemon.start(order);
  daemon.started();
  EXPECT_EQ(told.line(), "ready");
  daemon.signal(kSaveSignal);
  EXPECT_EQ(daemon.ended().exit.number, 5);
  EXPECT_EQ(daemon.log(), "the shell lives\n");
  EXPECT_TRUE(std::filesystem::exists(daemon.folder() / "state"));
}

TEST(Save, HasNoMoreThanItsTime) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  Order order = daemon.shell(
      "exec 2>/dev/null; trap 'echo saves' USR1; "
      "trap 'echo asked; exit 9' TERM; echo ready >" +
      told.path() + "; while :; do sleep 0.01; done");
  order.save_signal = SIGUSR1;
  order.save_grace_millis = 100;
  order.grace_millis = 600'000;
  daemon.start(order);
  daemon.started();
  EXPECT_EQ(told.line(), "ready");
  const auto asked = Clock::now();
  daemon.signal(kSaveSignal);
  EXPECT_EQ(daemon.ended().exit.number, 9);
  EXPECT_GE(Clock::now() - asked, std::chrono::milliseconds(100));
  EXPECT_EQ(daemon.log(), "saves\nasked\n");
}

TEST(Save, IsWaitedForByNobodyWhereNoneHearsIt) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  Order order = daemon.shell("echo ready >" + told.path() + "; while :; do sleep 0.01; done");
  order.save_signal = SIGUSR1;
  order.save_grace_millis = 3'600'000;
  daemon.start(order);
  daemon.started();
  EXPECT_EQ(told.line(), "ready");
  daemon.signal(kSaveSignal);
  EXPECT_EQ(daemon.ended().exit.number, SIGTERM);
}

/// Saving goes on in a session of its own when the job's own process has ended.
TEST(Save, GoesOnAfterTheJobsOwnProcess) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  Fifo go(daemon.folder() / "go");
  Order order = daemon.shell("trap 'exit 0' USR1; setsid sh -c 'trap \"read x <" + go.path() +
                             "; echo saved; exit\" USR1; echo ready >" + told.path() +
                             "; while :; do sleep 0.01; done' & while :; do sleep 0.01; done");
  order.save_signal = SIGUSR1;
  order.save_grace_millis = 600'000;
  daemon.start(order);
  daemon.started();
  EXPECT_EQ(told.line(), "ready");
  daemon.signal(kSaveSignal);
  go.write("\n");
  EXPECT_EQ(daemon.ended().exit.number, 0);
  EXPECT_EQ(daemon.log(), "saved\n");
}

TEST(Save, IsCutShortByAnOrderToEnd) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  Order order = daemon.shell("trap 'echo saves' USR1; echo ready >" + told.path() +
                             "; while :; do sleep 0.01; done");
  order.save_signal = SIGUSR1;
  order.save_grace_millis = 3'600'000;
  daemon.start(order);
  daemon.started();
  EXPECT_EQ(told.line(), "ready");
  daemon.signal(kSaveSignal);
  daemon.signal(kStopSignal);
  EXPECT_EQ(daemon.ended().exit.number, SIGTERM);
}

TEST(Kill, WaitsForNoGrace) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  Order order = daemon.shell("trap '' TERM; setsid sleep 1000 & echo $!; echo ready >" +
                             told.path() + "; while :; do wait; done");
  order.grace_millis = 3'600'000;
  daemon.start(order);
  daemon.started();
  EXPECT_EQ(told.line(), "ready");
  daemon.signal(kStopSignal);
  daemon.signal(kKillSignal);
  const Ended ended = daemon.ended();
  EXPECT_EQ(ended.exit.number, SIGKILL);
  expect_all_gone(pids_in(daemon.log()), 1);
}

TEST(Kill, OutrunsAJobThatForks) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  // Each process is there for a moment only, and starts its successor in a new session.
  const std::string chain =
      daemon.folder().write("chain", "trap '' TERM HUP\nsetsid sh \"$0\" &\nsleep 0.002\n");
  daemon.start(daemon.shell("sh " + chain + "; echo ready >" + told.path() + "; sleep 1000"));
  daemon.started();
  EXPECT_EQ(told.line(), "ready");
  daemon.signal(kKillSignal);
  EXPECT_EQ(daemon.ended().exit.number, SIGKILL);
}

/// Each process is there for a moment: it makes the next, in a session of its own, and ends. The
/// job's own stays, or what is left would have two seconds.
TEST(Kill, OutrunsAChainOfForks) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  const std::string chain =
      "$SIG{TERM} = 'IGNORE'; if (fork) { sleep 1000; exit } for (1..100000) { exit if fork; "
      "POSIX::setsid(); "
      "if ($_ == 20) { open my $told, '>', '" +
      told.path() + "'; print $told \"runs\\n\"; close $told; } }";
  Order order = daemon.shell("sleep 1000");
  order.arguments = {"perl", "-MPOSIX", "-e", chain};
  order.grace_millis = 100'000;
  daemon.start(order);
  daemon.started();
  EXPECT_EQ(told.line(), "runs");
  daemon.signal(kKillSignal);
  daemon.ended();
  EXPECT_EQ(daemon.gone(), 0);
}

TEST(Kill, OutrunsABomb) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  const std::string bomb =
      "my $t = time; for (1..4) { fork; POSIX::setsid(); } open my $told, '>', '" + told.path() +
      "'; print $told \"runs\\n\"; close $told; while (time < $t + 20) { exit if fork; }";
  Order order = daemon.shell("sleep 1000");
  order.arguments = {"perl", "-MPOSIX", "-e", bomb};
  order.grace_millis = 100'000;
  daemon.start(order);
  daemon.started();
  EXPECT_EQ(told.line(), "runs");
  daemon.signal(kKillSignal);
  daemon.ended();
  EXPECT_EQ(daemon.gone(), 0);
}

/// As on Linux before 5.14: what a cgroup has is frozen, so that it forks no more.
TEST(Kill, FreezesACgroupThatCannotBeKilledWhole) {
  Daemon daemon;
  const std::string group = daemon.folder() / "group";
  std::filesystem::create_directory(group);
  for (const char* file : {"/cgroup.procs", "/cgroup.freeze"}) std::ofstream(group + file) << "";
  Order order = daemon.shell("sleep 1000");
  order.cgroup = group;
  order.keeps_cgroup = true;
  daemon.start(order);
  daemon.started();
  daemon.signal(kKillSignal);
  EXPECT_EQ(daemon.ended().exit.number, SIGKILL);
  std::string frozen;
  std::ifstream(group + "/cgroup.freeze") >> frozen;
  EXPECT_EQ(frozen, "1");
}

TEST(Signals, OfATerminalDoNotReachAShim) {
  Daemon daemon;
  Fifo gate(daemon.folder() / "gate");
  daemon.start(daemon.shell("read line <" + gate.path() + "; exit 3"));
  daemon.started();
  for (const int number : {SIGHUP, SIGINT, SIGPIPE}) daemon.signal(number);
  EXPECT_NE(getsid(daemon.shim()), getsid(0));
  gate.write("go\n");
  EXPECT_EQ(daemon.ended().exit.number, 3);
}

/// A new cgroup v2 folder; "" where this machine lets us make none.
std::string make_cgroup() {
  for (const std::string top : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (!std::filesystem::exists(top + "/cgroup.procs")) continue;
    const std::string path = top + "/berth-test-" + std::to_string(getpid());
    const bool made = mkdir(path.c_str(), 0755) == 0;
    if (made && std::filesystem::exists(path + "/cgroup.procs")) return path;
    if (made) rmdir(path.c_str());
  }
  return "";
}

TEST(Cgroup, HoldsTheJobAndGoesWithIt) {
  const std::string cgroup = make_cgroup();
  if (cgroup.empty()) GTEST_SKIP() << "no cgroup can be made here";
  Daemon daemon;
  Order order = daemon.shell("setsid sleep 1000 & cat /proc/self/cgroup");
  order.cgroup = cgroup;
  const Ended ended = daemon.run(order);
  EXPECT_EQ(ended.note, "ended 1 process left behind");
  const std::string name = cgroup.substr(cgroup.rfind('/'));
  EXPECT_NE(daemon.log().find("0::" + name + "\n"), std::string::npos) << daemon.log();
  EXPECT_EQ(daemon.gone(), 0);
  EXPECT_FALSE(std::filesystem::exists(cgroup));
}

TEST(Cgroup, IsKilledWhole) {
  const std::string cgroup = make_cgroup();
  if (cgroup.empty()) GTEST_SKIP() << "no cgroup can be made here";
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  Order order = daemon.shell("trap '' TERM; setsid sleep 1000 & echo $!; echo ready >" +
                             told.path() + "; while :; do wait; done");
  order.cgroup = cgroup;
  daemon.start(order);
  daemon.started();
  EXPECT_EQ(told.line(), "ready");
  daemon.signal(kKillSignal);
  EXPECT_EQ(daemon.ended().exit.number, SIGKILL);
  expect_all_gone(pids_in(daemon.log()), 1);
  EXPECT_EQ(daemon.gone(), 0);
  EXPECT_FALSE(std::filesystem::exists(cgroup));
}

TEST(Cgroup, ThatIsNotThereIsNotedAndTheJobRuns) {
  Daemon daemon;
  Order order = daemon.shell("echo ran");
  order.cgroup = "/no/such/cgroup";
  const Ended ended = daemon.run(order);
  EXPECT_EQ(ended.exit.number, 0);
  EXPECT_EQ(ended.note, "not in its cgroup: No such file or directory");
  EXPECT_EQ(daemon.log(), "ran\n");
}

}  // namespace
}  // namespace berth::shim::test
