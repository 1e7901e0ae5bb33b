// Goal: a job that `berth run` attends reads and writes through it as in a terminal of its user's.
// Method: the real program; the test listens as `berth run` does.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>

#include "shim/support.hpp"

namespace berth::shim::test {
namespace {

Order attended(const Daemon& daemon, const Client& client, const std::string& script) {
  Order order = daemon.shell(script);
  order.attach = Attach{.socket = client.path()};
  return order;
}

Order on_terminal(const Daemon& daemon, const Client& client, const std::string& script) {
  Order order = attended(daemon, client, script);
  order.attach->terminal = true;
  order.attach->rows = 33;
  order.attach->columns = 123;
  return order;
}

std::string size_frame(int rows, int columns) {
  std::string bytes;
  for (const int number : {rows, columns}) {
    bytes.push_back(static_cast<char>(number & 0xff));
    bytes.push_back(static_cast<char>(number >> 8));
  }
  return bytes;
}

/// What this process writes to 2 goes elsewhere meanwhile.
class ErrorGoesTo {
 public:
  explicit ErrorGoesTo(int file) { EXPECT_EQ(dup2(file, STDERR_FILENO), STDERR_FILENO); }
  ErrorGoesTo(const ErrorGoesTo&) = delete;
  ErrorGoesTo& operator=(const ErrorGoesTo&) = delete;
  ~ErrorGoesTo() { dup2(before_.number(), STDERR_FILENO); }

 private:
  File before_{fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)};
};

/// `berth run ... 2>&1 | tee log`.
TEST(Attended, TheOrderOfWhatGoesToOneFileIsKept) {
  Daemon daemon;
  const ErrorGoesTo output(STDOUT_FILENO);
  Client client(daemon.folder() / "s");
  daemon.start(attended(daemon, client, "for i in 1 2 3 4 5; do echo $i; echo $i >&2; done"));
  client.accept();
  const Client::Heard rest = client.rest();
  EXPECT_EQ(rest.output, "1\n1\n2\n2\n3\n3\n4\n4\n5\n5\n");
  EXPECT_EQ(rest.error, "");
}

TEST(Attended, FindsItsClientByTheRootOfThatOrByItsOwn) {
  for (const pid_t client_there : {getpid(), pid_t{1 << 30}}) {
    Daemon daemon;
    Client client(daemon.folder() / "s");
    Order order = attended(daemon, client, "echo met");
    order.attach->socket = "/proc/" + std::to_string(client_there) + "/root" + client.path();
    daemon.start(order);
    client.accept();
    EXPECT_EQ(client.rest().output, "met\n") << client_there;
  }
}

TEST(Attended, InputGoesThroughTheJob) {
  Daemon daemon;
  const File nothing(memfd_create("error", MFD_CLOEXEC));
  const ErrorGoesTo elsewhere(nothing.number());
  Client client(daemon.folder() / "s");
  daemon.start(attended(daemon, client, "cat; echo done >&2; exit 5"));
  client.accept();
  client.send(FrameKind::Input, "hi\n");
  EXPECT_EQ(client.output_until("hi\n"), "hi\n");
  client.send(FrameKind::Input, "ho\n");
  client.send(FrameKind::InputEnd, "");
  const Client::Heard rest = client.rest();
  EXPECT_EQ(rest.output, "ho\n");
  EXPECT_EQ(rest.error, "done\n");
  EXPECT_EQ(rest.exit, 5);
  daemon.started();
  EXPECT_EQ(daemon.ended().exit.number, 5);
  EXPECT_EQ(daemon.log(), "hi\nho\ndone\n");
}

TEST(Attended, MuchInputAndOutputArriveWhole) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  Order order = attended(daemon, client, "cat; head -c 3000000 /dev/zero");
  daemon.start(order);
  client.accept();
  const std::string block(50'000, 'x');
  std::string got;
  for (int i = 0; i < 40; ++i)
    client.send(FrameKind::Input, block), got += client.output_until("x");
  client.send(FrameKind::InputEnd, "");
  got += client.rest().output;
  EXPECT_EQ(got.size(), 40 * block.size() + 3'000'000);
  EXPECT_TRUE(got.ends_with(std::string(3'000'000, '\0')));
}

TEST(Attended, AJobThatDoesNotReadStillEnds) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  Fifo gate(daemon.folder() / "gate");
  daemon.start(attended(daemon, client, "exec <&-; echo closed; read line <" + gate.path()));
  client.accept();
  client.output_until("closed\n");
  client.send(FrameKind::Input, std::string(60'000, 'x'));
  client.send(FrameKind::Input, std::string(60'000, 'x'));
  client.send(FrameKind::InputEnd, "");
  gate.write("go\n");
  EXPECT_EQ(client.rest().exit, 0);
}

TEST(Attended, AClientThatDoesNotReadHoldsTheJobBackUntilItDoes) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  daemon.start(attended(daemon, client, "head -c 5000000 /dev/zero; exit 2"));
  client.accept();
  daemon.started();
  const Client::Heard heard = client.rest();  // only now
  EXPECT_EQ(heard.output.size(), 5'000'000U);
  EXPECT_EQ(heard.exit, 2);
}

TEST(Attended, AJobHeldBackCanBeKilledAndItsEndIsTold) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  daemon.start(attended(daemon, client, "exec cat /dev/zero"));
  client.accept();
  daemon.started();
  daemon.signal(kKillSignal);
  EXPECT_EQ(daemon.ended().exit.number, SIGKILL);  // though no client has read
  EXPECT_EQ(client.rest().exit, 128 + SIGKILL);
}

TEST(Attended, ASignalReachesTheGroup) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  daemon.start(attended(daemon, client,
                        "trap 'echo parent' USR1; sh -c 'trap \"echo child; exit\" USR1; "
                        "echo ready; while :; do sleep 0.01; done' & wait; wait"));
  client.accept();
  client.output_until("ready\n");
  client.send(FrameKind::Signal, std::string(1, static_cast<char>(SIGUSR1)));
  const std::string output = client.rest().output;
  EXPECT_NE(output.find("child\n"), std::string::npos) << output;
  EXPECT_NE(output.find("parent\n"), std::string::npos) << output;
}

TEST(Attended, WhoseProgramIsNotThereSaysSo) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  Order order = attended(daemon, client, "");
  order.arguments = {"no-such-program"};
  daemon.start(order);
  client.accept();
  const Client::Heard heard = client.rest();
  EXPECT_EQ(heard.error, "berth: cannot run 'no-such-program': No such file or directory\n");
  EXPECT_EQ(heard.exit, 127);
}

TEST(Attended, WithoutItsClientIsNotStarted) {
  Daemon daemon;
  Order order = daemon.shell("echo ran");
  order.attach = Attach{.socket = daemon.folder() / "nobody"};
  daemon.start(order);
  const Ended ended = daemon.ended();  // and no Started before
  EXPECT_EQ(ended.exit.kind, Exit::Kind::Setup);
  EXPECT_EQ(ended.exit.number, ENOENT);
  EXPECT_EQ(ended.note, "its `berth run` is gone: No such file or directory");
  EXPECT_EQ(daemon.gone(), 0);
  const Record record = daemon.record();
  EXPECT_FALSE(record.go);
  EXPECT_EQ(record.exit, ended.exit);
}

TEST(Attended, ByAnotherUserIsNotStarted) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  Daemon daemon;
  Client client(daemon.folder() / "s");
  chmod(daemon.folder().path().c_str(), 0755);
  chmod(client.path().c_str(), 0777);
  Order order = attended(daemon, client, "echo ran");
  order.user = order.group = 65534;
  daemon.start(order);
  const Ended ended = daemon.ended();
  EXPECT_EQ(shell_code(ended.exit), 125);
  EXPECT_EQ(ended.note,
            "the listener at " + client.path() + " is not user 65534: Operation not permitted");
  EXPECT_FALSE(daemon.record().go);
}

TEST(Attended, ASocketThatItsUserMayNotUseIsNotUsedForThem) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  Daemon daemon;
  Client client(daemon.folder() / "s");  // in a folder that is root's, and closed
  Order order = attended(daemon, client, "echo ran");
  order.user = order.group = 65534;
  daemon.start(order);
  EXPECT_EQ(daemon.ended().exit.number, EACCES);
}

TEST(Attended, BySocketOfALongName) {
  Daemon daemon;
  const std::string folder = daemon.folder() / std::string(200, 'd');
  std::filesystem::create_directory(folder);
  Client client(folder + "/s");
  daemon.start(attended(daemon, client, "echo hi"));
  client.accept();
  EXPECT_EQ(client.rest().output, "hi\n");
}

TEST(Attended, AClientThatGoesTakesItsJobAlong) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  daemon.start(attended(daemon, client, "echo ready; sleep 1000"));
  client.accept();
  client.output_until("ready\n");
  client.hang_up();
  daemon.started();
  const Ended ended = daemon.ended();
  EXPECT_EQ(ended.exit.kind, Exit::Kind::Signal);
  EXPECT_EQ(ended.exit.number, SIGHUP);
  EXPECT_TRUE(ended.note.starts_with("its terminal or its client was gone: it was sent SIGHUP"))
      << ended.note;
}

TEST(Attended, AClientThatGoesLetsItsJobSayMoreForTheGrace) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  Order order = attended(
      daemon, client,
      "exec 2>/dev/null; trap 'echo hung up' HUP; echo ready; while :; do sleep 0.01; done");
  order.grace_millis = 200;
  daemon.start(order);
  client.accept();
  client.output_until("ready\n");
  client.hang_up();
  daemon.started();
  EXPECT_EQ(daemon.ended().exit.number, SIGKILL);
  EXPECT_EQ(daemon.log(), "ready\nhung up\n");
}

/// The shell dies of the signal at once.
TEST(Attended, AClientThatGoesLeavesTheWholeGraceToWhatAShellRan) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  Order order = attended(daemon, client,
                         "exec 2>/dev/null; sh -c 'trap \"sleep 2.5; echo saved; exit\" HUP; "
                         "trap \"\" TERM; echo ready; while :; do sleep 0.01; done'; echo never");
  order.grace_millis = 600'000;
  daemon.start(order);
  client.accept();
  client.output_until("ready\n");
  client.hang_up();
  daemon.started();
  EXPECT_EQ(daemon.ended().exit.number, SIGHUP);
  EXPECT_EQ(daemon.log(), "ready\nsaved\n");
}

TEST(Attended, AClientThatTalksNonsenseIsGone) {
  for (const std::string& nonsense :
       {std::string("\x0b"), encode_frame(FrameKind::Output, "x"),
        encode_frame(FrameKind::Signal, ""), encode_frame(FrameKind::Signal, "\x7f"),
        encode_frame(FrameKind::Resize, "abc")}) {
    Daemon daemon;
    Client client(daemon.folder() / "s");
    daemon.start(attended(daemon, client, "echo ready; sleep 1000"));
    client.accept();
    client.output_until("ready\n");
    client.send_bytes(nonsense);
    daemon.started();
    EXPECT_EQ(daemon.ended().exit.number, SIGHUP);
  }
}

TEST(Attended, AClientThatAsksIsToldWhatTheShimKnows) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  daemon.start(attended(daemon, client, "exec cat"));
  client.accept();
  client.send(FrameKind::Input, "");
  const auto hello = client.next();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->kind, FrameKind::Hello);
  EXPECT_EQ(hello->bytes, std::string(1, kProtocol));
  client.send(FrameKind::InputEnd, "");
  EXPECT_EQ(client.rest().exit, 0);
}

TEST(Attended, AClientThatDetachesLeavesItsJobAlone) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  Fifo gate(daemon.folder() / "gate");
  daemon.start(
      attended(daemon, client, "echo ready; read x <" + gate.path() + "; echo $x; exit 4"));
  client.accept();
  client.output_until("ready\n");
  client.send(FrameKind::Detach, "");
  const auto last = client.next();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->kind, FrameKind::Detached);
  EXPECT_EQ(last->bytes, std::string(1, static_cast<char>(Parting::Wished)));
  EXPECT_FALSE(client.next()) << "nothing comes after it";
  gate.write("alone\n");
  daemon.started();
  EXPECT_EQ(daemon.ended().exit.number, 4);
  EXPECT_EQ(daemon.log(), "ready\nalone\n");
}

TEST(Attended, WhereItIsOptionalAClientMayBeGoneBeforeAndGoLater) {
  {
    Daemon daemon;
    Order order = daemon.shell("echo ran");
    order.attach = Attach{.socket = daemon.folder() / "nobody", .optional = true};
    EXPECT_EQ(daemon.run(order).exit.number, 0);
    EXPECT_EQ(daemon.log(), "ran\n");
  }
  Daemon daemon;
  Client client(daemon.folder() / "s");
  Fifo gate(daemon.folder() / "gate");
  Order order = attended(daemon, client, "echo ready; read x <" + gate.path() + "; echo $x");
  order.attach->optional = true;
  daemon.start(order);
  client.accept();
  client.output_until("ready\n");
  client.hang_up();
  gate.write("alone\n");
  daemon.started();
  EXPECT_EQ(daemon.ended().exit.number, 0);
  EXPECT_EQ(daemon.log(), "ready\nalone\n");
}

TEST(Attended, AnotherClientTakesThePlaceOfTheFirstWithoutADaemon) {
  Daemon daemon;
  Client first(daemon.folder() / "s");
  Client second(daemon.folder() / "t");
  daemon.start(attended(daemon, first, "echo ready; cat; exit 6"));
  first.accept();
  first.output_until("ready\n");
  daemon.started();
  daemon.attach({.socket = second.path()});
  second.accept();
  const auto last = first.next();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->kind, FrameKind::Detached);
  EXPECT_EQ(last->bytes, std::string(1, static_cast<char>(Parting::Replaced)));
  first.hang_up();
  second.send(FrameKind::Input, "again\n");
  EXPECT_EQ(second.output_until("again\n"), "again\n");
  second.hang_up();  // one that came later may go
  Client third(daemon.folder() / "u");
  daemon.hang_up();
  daemon.attach({.socket = third.path()});
  third.accept();
  third.send(FrameKind::InputEnd, "");
  EXPECT_EQ(third.rest().exit, 6);
  EXPECT_EQ(daemon.gone(), 0);
}

TEST(Attended, ARequestToAttachThatCannotBeFollowedChangesNothing) {
  Daemon daemon;
  Client first(daemon.folder() / "s");
  daemon.start(attended(daemon, first, "echo ready; exec cat"));
  first.accept();
  first.output_until("ready\n");
  daemon.signal(kAttachSignal);  // without one
  daemon.attach({.socket = daemon.folder() / "nobody"});
  daemon.folder().write("attempt.attach", "nonsense");
  daemon.signal(kAttachSignal);
  first.send(FrameKind::Input, "on\n");
  EXPECT_EQ(first.output_until("on\n"), "on\n");
  first.send(FrameKind::InputEnd, "");
  EXPECT_EQ(first.rest().exit, 0);
}

TEST(Attended, AnotherUserCannotAttach) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  constexpr uid_t kUser = 65534;
  Daemon daemon;
  chmod(daemon.folder().path().c_str(), 0777);
  Client first(daemon.folder() / "s", kUser);
  Client stranger(daemon.folder() / "t");  // root's
  chmod(stranger.path().c_str(), 0777);
  Order order = attended(daemon, first, "echo ready; exec cat");
  order.user = order.group = kUser;
  daemon.start(order);
  first.accept();
  first.output_until("ready\n");
  daemon.attach({.socket = stranger.path()});
  stranger.accept();
  EXPECT_FALSE(stranger.next()) << "the shim connects, sees who listens, and says nothing";
  first.send(FrameKind::Input, "on\n");
  EXPECT_EQ(first.output_until("on\n"), "on\n");
  first.send(FrameKind::InputEnd, "");
  EXPECT_EQ(first.rest().exit, 0);
}

TEST(Terminal, OfAnotherSizeAndScreenIsTakenOver) {
  Daemon daemon;
  Client first(daemon.folder() / "s");
  Client second(daemon.folder() / "t");
  daemon.start(on_terminal(daemon, first,
                           "trap 'stty size' WINCH; echo ready; "
                           "while :; do sleep 0.01; done"));
  first.accept();
  first.output_until("ready\r\n");
  daemon.started();
  daemon.attach({.socket = second.path(), .rows = 44, .columns = 300});
  second.accept();
  second.output_until("44 300\r\n");
  Client third(daemon.folder() / "u");
  daemon.attach({.socket = third.path(), .rows = 44, .columns = 300});
  third.accept();
  third.output_until("44 300\r\n");  // told of it although it is the same
}

TEST(Terminal, IsOneOnAllStreams) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  daemon.start(on_terminal(daemon, client,
                           "test -t 0 && test -t 1 && test -t 2 && stty size && : </dev/tty && "
                           "echo tty; exit 4"));
  client.accept();
  const Client::Heard heard = client.rest();
  EXPECT_EQ(heard.output, "33 123\r\ntty\r\n");
  EXPECT_EQ(heard.exit, 4);
  daemon.started();
  daemon.ended();
  EXPECT_EQ(daemon.log(), heard.output);
}

/// `berth run python t.py 2>err.log`.
TEST(Terminal, LeavesErrorsToAStreamOfTheirOwnWhereTheyGoElsewhere) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  Order order = on_terminal(daemon, client,
                            "test -t 0 && test -t 1 && ! test -t 2 && echo out; "
                            "echo error >&2");
  order.errors_apart = true;
  daemon.start(order);
  client.accept();
  const Client::Heard heard = client.rest();
  EXPECT_EQ(heard.output, "out\r\n");
  EXPECT_EQ(heard.error, "error\n");
}

TEST(Terminal, IsResized) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  daemon.start(on_terminal(daemon, client,
                           "trap 'stty size; exit' WINCH; echo ready; "
                           "while :; do sleep 0.01; done"));
  client.accept();
  client.output_until("ready\r\n");
  client.send(FrameKind::Resize, size_frame(44, 300));
  EXPECT_EQ(client.rest().output, "44 300\r\n");
}

TEST(Terminal, EchoesReadsLinesAndEnds) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  daemon.start(on_terminal(daemon, client, "cat; echo end"));
  client.accept();
  client.send(FrameKind::Input, "hi\n");
  EXPECT_EQ(client.output_until("hi\r\nhi\r\n"), "hi\r\nhi\r\n");
  client.send(FrameKind::InputEnd, "");
  EXPECT_EQ(client.rest().output, "end\r\n");
}

TEST(Terminal, TurnsItsInterruptKeyIntoASignal) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  daemon.start(on_terminal(daemon, client, "echo ready; exec sleep 1000"));
  client.accept();
  client.output_until("ready\r\n");
  client.send(FrameKind::Input, "\x03");
  EXPECT_EQ(client.rest().exit, 128 + SIGINT);
}

TEST(Terminal, TellsOnceThatCtrlZStopsNothing) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  daemon.start(on_terminal(daemon, client, "echo ready; exec sleep 1000"));
  client.accept();
  client.output_until("ready\r\n");
  client.send(FrameKind::Input, "\x1a");
  client.send(FrameKind::Input, "\x1a");
  client.send(FrameKind::Input, "\x03");
  const Client::Heard heard = client.rest();
  EXPECT_EQ(heard.error,
            "\r\nberth: Ctrl-Z does not stop the job, which goes on; ~d at the beginning of a "
            "line, or what --detach-keys says, leaves it\r\n");
  EXPECT_EQ(heard.exit, 128 + SIGINT);
}

TEST(Terminal, LeavesCtrlZToAProgramThatTakesIt) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  daemon.start(on_terminal(daemon, client,
                           "trap 'echo mine; exit' TSTP; echo ready; "
                           "while :; do sleep 0.01; done"));
  client.accept();
  client.output_until("ready\r\n");
  client.send(FrameKind::Input, "\x1a");
  const Client::Heard heard = client.rest();
  EXPECT_EQ(heard.output, "^Zmine\r\n");
  EXPECT_EQ(heard.error, "");
}

TEST(Terminal, PassesASignalToItsForeground) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  // With job control the shell puts its child into a group of its own.
  daemon.start(on_terminal(daemon, client, "set -m; sh -c 'echo ready; exec sleep 1000'; echo $?"));
  client.accept();
  client.output_until("ready\r\n");
  client.send(FrameKind::Signal, std::string(1, static_cast<char>(SIGKILL)));
  const Client::Heard heard = client.rest();
  EXPECT_NE(heard.output.find("137\r\n"), std::string::npos) << heard.output;
  EXPECT_EQ(heard.exit, 0);
}

/// A child of this process with that very number, leading a group of its own; nothing where numbers
/// cannot be chosen, or another process has it.
std::optional<pid_t> process_with_number(pid_t number) {
  std::ofstream last("/proc/sys/kernel/ns_last_pid");
  if (!(last << number - 1 << std::flush)) return std::nullopt;
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    pause();
    _exit(0);
  }
  setpgid(pid, pid);
  if (pid == number) return pid;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return std::nullopt;
}

/// The terminal names a group until it gets another, even if another group has that number by
/// then. The shim may be root's, and its signals come from the user.
TEST(Terminal, PassesNoSignalToAStrangerWithTheNumberOfItsForeground) {
  if (!is_root()) GTEST_SKIP() << "needs root, to choose the number of a process";
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "needs python3";
  Daemon daemon;
  Client client(daemon.folder() / "s");
  daemon.start(on_terminal(daemon, client, R"(exec python3 -c '
import os, signal, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = os.fork()
if child == 0:
    signal.pause()
os.setpgid(child, child)
os.tcsetpgrp(0, child)
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
print("foreground", child, "end", flush=True)
time.sleep(1000)')"));
  client.accept();
  const std::string said = client.output_until("end\r\n");
  const auto stranger = process_with_number(std::stoi(said.substr(said.find(' ') + 1)));
  client.send(FrameKind::Signal, std::string(1, static_cast<char>(SIGKILL)));
  EXPECT_EQ(client.rest().exit, 128 + SIGKILL);  // the job's own group instead
  if (!stranger) GTEST_SKIP() << "the number was taken";
  int status = 0;
  EXPECT_EQ(waitpid(*stranger, &status, WNOHANG), 0);
  kill(*stranger, SIGKILL);
  waitpid(*stranger, &status, 0);
}

TEST(Terminal, ThatClosesEndsItsJob) {
  Daemon daemon;
  Client client(daemon.folder() / "s");
  daemon.start(on_terminal(daemon, client, "echo ready; exec sleep 1000"));
  client.accept();
  client.output_until("ready\r\n");
  client.hang_up();
  daemon.started();
  EXPECT_EQ(daemon.ended().exit.number, SIGHUP);
}

TEST(Terminal, IsItsUsers) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  constexpr uid_t kUser = 65534;
  Daemon daemon;
  chmod(daemon.folder().path().c_str(), 0777);
  Client client(daemon.folder() / "s", kUser);
  Order order = on_terminal(daemon, client, "id -u; stat -c %u $(tty); echo by name >$(tty)");
  order.user = order.group = kUser;
  daemon.start(order);
  client.accept();
  const Client::Heard heard = client.rest();
  EXPECT_EQ(heard.output, "65534\r\n65534\r\nby name\r\n");
  EXPECT_EQ(heard.exit, 0);
}

}  // namespace
}  // namespace berth::shim::test
