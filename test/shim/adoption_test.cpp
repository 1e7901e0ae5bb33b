// Goal: a shim holds a process that it did not start as it holds a job: it tells its end, ends it
// and what is below it when told to, and never takes another of the same number for it.
// Method: the real program, and shells of the test's own that write their numbers down.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "shim/proc.hpp"
#include "shim/support.hpp"

namespace berth::shim::test {
namespace {

/// A shell of the test's, in a session of its own.
class ByHand {
 public:
  explicit ByHand(const std::string& script) {
    pid_ = fork();
    if (pid_ != 0) {
      while (stat_of(pid_)->session != pid_) usleep(1000);
      return;
    }
    setsid();
    execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    _exit(127);
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;
  ~ByHand() {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  Process process() const { return {.pid = pid_, .start = stat_of(pid_)->start}; }
  /// Returns: the signal that ended it; 0 if none did.
  int collect() const {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  pid_t pid_ = 0;
};

/// Be it that nobody has collected it yet.
bool has_ended(pid_t pid) {
  const auto stat = stat_of(pid);
  return !stat || has_exited(*stat);
}

Order order_for(const Daemon& daemon, const Process& process) {
  Order order = daemon.shell("true");
  order.arguments = {"by", "hand"};
  order.adopted = process;
  return order;
}

TEST(AdoptedProcess, IsToldOfWhenItBeginsAndEnds) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  const ByHand process("read line <" + told.path() + "; exit 7");
  daemon.start(order_for(daemon, process.process()));
  EXPECT_EQ(daemon.started(), process.process());
  EXPECT_TRUE(daemon.is_locked());
  EXPECT_EQ(daemon.record().go, process.process());
  told.write("go\n");
  const Ended ended = daemon.ended();
  EXPECT_EQ(ended.exit.kind, Exit::Kind::Code);
  EXPECT_EQ(ended.exit.number, 0);  // as it is not known
  EXPECT_EQ(ended.note, "");
  EXPECT_EQ(daemon.gone(), 0);
  ASSERT_TRUE(daemon.record().exit);
  EXPECT_EQ(daemon.log(), "berth: process " + std::to_string(process.pid()) +
                              " was started by hand and is adopted as this job; what it writes "
                              "stays where it goes\n");
}

TEST(AdoptedProcess, IsNotAnotherOfItsNumber) {
  Daemon daemon;
  const ByHand process("sleep 1000");
  Process other = process.process();
  --other.start;
  daemon.start(order_for(daemon, other));
  const Ended ended = daemon.ended();
  EXPECT_EQ(ended.exit.kind, Exit::Kind::Setup);
  EXPECT_EQ(ended.exit.number, ESRCH);
  EXPECT_EQ(ended.note,
            "process " + std::to_string(process.pid()) + " had ended before it was adopted");
  EXPECT_FALSE(daemon.record().go);
  EXPECT_EQ(kill(process.pid(), 0), 0);
}

TEST(AdoptedProcess, IsAskedToEndWithAllBelowIt) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  const ByHand process("trap 'exit 0' TERM; setsid sleep 1000 & echo $! >" + told.path() +
                       "; wait; wait");
  const pid_t below = std::stoi(told.line());
  daemon.start(order_for(daemon, process.process()));
  daemon.started();
  daemon.signal(kStopSignal);
  EXPECT_EQ(daemon.ended().exit.number, SIGTERM);
  EXPECT_EQ(process.collect(), 0);
  EXPECT_TRUE(has_ended(below));
}

TEST(AdoptedProcess, IsKilledAfterTheGraceAndAtOnce) {
  for (const int signal : {kStopSignal, kKillSignal}) {
    Daemon daemon;
    Fifo told(daemon.folder() / "told");
    const ByHand process("trap '' TERM; sleep 1000 & echo $! >" + told.path() +
                         "; while :; do sleep 1000; done");
    const pid_t below = std::stoi(told.line());
    Order order = order_for(daemon, process.process());
    order.grace_millis = 50;
    daemon.start(order);
    daemon.started();
    daemon.signal(signal);
    const Ended ended = daemon.ended();
    EXPECT_EQ(ended.exit.kind, Exit::Kind::Signal);
    EXPECT_EQ(ended.exit.number, SIGKILL);
    EXPECT_EQ(process.collect(), SIGKILL);
    EXPECT_TRUE(has_ended(below));
  }
}

TEST(AdoptedProcess, LeavesNothingBehind) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  Fifo go(daemon.folder() / "go");
  const ByHand process("sleep 1000 & echo $! >" + told.path() + "; read line <" + go.path());
  const pid_t below = std::stoi(told.line());
  daemon.start(order_for(daemon, process.process()));
  daemon.started();
  go.write("go\n");
  EXPECT_EQ(daemon.ended().exit.kind, Exit::Kind::Code);
  EXPECT_TRUE(has_ended(below));
}

TEST(AdoptedProcess, OutlivesItsDaemon) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  const ByHand process("read line <" + told.path());
  daemon.start(order_for(daemon, process.process()));
  daemon.started();
  daemon.hang_up();
  EXPECT_TRUE(daemon.is_locked());
  told.write("go\n");
  EXPECT_EQ(daemon.gone(), 0);
  EXPECT_EQ(daemon.record().exit->kind, Exit::Kind::Code);
}

}  // namespace
}  // namespace berth::shim::test
