// Goal: what a job is given and what is kept of it: output, exit, record.
// Method: the real program, with a test in place of the daemon; small shell scripts as jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <set>

#include "shim/program/log.hpp"
#include "shim/support.hpp"
#include "support/paths.hpp"
#include "support/unanswered.hpp"

namespace berth::shim::test {
namespace {

using berth::test::Unanswered;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Job, LeavesItsOutputAndItsRecord) {
  Daemon daemon;
  daemon.start(daemon.shell("echo hello"));
  const Process job = daemon.started();
  const Ended ended = daemon.ended();
  EXPECT_EQ(ended.exit.kind, Exit::Kind::Code);
  EXPECT_EQ(ended.exit.number, 0);
  EXPECT_EQ(ended.note, "");
  EXPECT_EQ(daemon.log(), "hello\n");
  const pid_t shim = daemon.shim();
  const Record record = daemon.record();
  EXPECT_EQ(record.shim->pid, shim);
  EXPECT_EQ(record.go, job);
  EXPECT_EQ(record.exit, ended.exit);
  EXPECT_EQ(daemon.gone(), 0);
}

TEST(Job, EndsByItsCodeOrItsSignal) {
  const std::pair<std::string, Exit> cases[] = {
      {"exit 7", {.kind = Exit::Kind::Code, .number = 7, .at = kStart}},
      {"exit 255", {.kind = Exit::Kind::Code, .number = 255, .at = kStart}},
      {"kill -9 $$", {.kind = Exit::Kind::Signal, .number = SIGKILL, .at = kStart}},
      {"kill -SEGV $$", {.kind = Exit::Kind::Signal, .number = SIGSEGV, .at = kStart}},
  };
  for (const auto& [script, expected] : cases) {
    Daemon daemon;
    const Ended ended = daemon.run(daemon.shell(script));
    EXPECT_EQ(ended.exit.kind, expected.kind) << script;
    EXPECT_EQ(ended.exit.number, expected.number) << script;
    EXPECT_EQ(daemon.record().exit, ended.exit) << script;
  }
}

TEST(Job, ThatCannotBeRunSaysWhy) {
  const auto run = [](Daemon& daemon, std::vector<std::string> arguments) {
    Order order = daemon.shell("");
    order.arguments = std::move(arguments);
    const Ended ended = daemon.run(order);
    EXPECT_EQ(ended.exit.kind, Exit::Kind::Exec);
    EXPECT_EQ("berth: " + ended.note + "\n", daemon.log());
    return shell_code(ended.exit);
  };
  Daemon absent;
  EXPECT_EQ(run(absent, {"no-such-program"}), 127);
  EXPECT_EQ(absent.log(), "berth: cannot run 'no-such-program': No such file or directory\n");
  Daemon nowhere;
  EXPECT_EQ(run(nowhere, {"/no/such/program"}), 127);
  Daemon empty;
  EXPECT_EQ(run(empty, {""}), 127);
  Daemon folder;
  EXPECT_EQ(run(folder, {"/tmp"}), 126);
  Daemon text;
  const std::string file = text.folder().write("text", "no script\n");
  EXPECT_EQ(run(text, {file}), 126);
  EXPECT_THAT(text.log(), HasSubstr("Permission denied"));
  Daemon code;
  const std::string other = code.folder().write("code", std::string("\x7f"
                                                                    "ELF\0\0",
                                                                    6));
  chmod(other.c_str(), 0755);
  EXPECT_EQ(run(code, {other}), 126);
  EXPECT_THAT(code.log(), HasSubstr("Exec format error"));
}

TEST(Job, OfATextThatNamesNoInterpreterIsRunByTheShell) {
  Daemon daemon;
  const std::string script = daemon.folder().write("script", "echo \"$0 has $1\"; exit 3\n");
  chmod(script.c_str(), 0755);
  Order order = daemon.shell("");
  order.arguments = {script, "one"};
  EXPECT_EQ(shell_code(daemon.run(order).exit), 3);
  EXPECT_EQ(daemon.log(), script + " has one\n");
}

TEST(Job, WithAVeryLongNameIsStillReported) {
  Daemon daemon;
  Order order = daemon.shell("");
  order.arguments = {std::string(1'000'000, 'x')};
  const Ended ended = daemon.run(order);
  EXPECT_EQ(ended.exit.kind, Exit::Kind::Exec);
  EXPECT_EQ(ended.exit.number, ENAMETOOLONG);
  EXPECT_LT(ended.note.size(), 1000U);
}

TEST(Job, IsLookedUpInItsOwnPath) {
  Daemon daemon;
  const std::string here = daemon.folder().path().string();
  daemon.folder().write("refused", "#!/bin/sh\n");
  Order order = daemon.shell("");
  order.arguments = {"refused"};
  order.environment = {"PATH=/none:" + here + ":/bin/sh:/usr/bin"};
  const Ended ended = daemon.run(order);
  EXPECT_EQ(ended.exit.number, EACCES) << "what was found but refused is remembered";

  Daemon second;
  const std::string program = second.folder().write("mine", "#!/bin/sh\necho mine\n");
  chmod(program.c_str(), 0755);
  order = second.shell("");
  order.arguments = {"mine"};
  order.environment = {"PATH=/none::/bin"};  // an empty word is the current folder
  EXPECT_EQ(second.run(order).exit.number, 0);
  EXPECT_EQ(second.log(), "mine\n");
}

/// As root's folders are after su, which leaves PATH as it was.
TEST(Job, FindsNothingInAFolderThatItMayNotEnter) {
  Daemon daemon;
  chmod(daemon.folder().path().c_str(), 0755);
  const std::string closed = daemon.folder() / "closed";
  mkdir(closed.c_str(), 0);
  Order order = daemon.shell("");
  if (is_root()) order.user = order.group = 65534;
  order.arguments = {"no-such-program"};
  order.environment = {"PATH=" + closed + ":/usr/bin"};
  const Ended ended = daemon.run(order);
  EXPECT_EQ(ended.exit.number, ENOENT);
  EXPECT_EQ(shell_code(ended.exit), 127);
}

TEST(Job, WithoutItsDirectoryIsNotRun) {
  Daemon daemon;
  Order order = daemon.shell("echo ran");
  order.directory = "/no/such/folder";
  const Ended ended = daemon.run(order);
  EXPECT_EQ(ended.exit.kind, Exit::Kind::Setup);
  EXPECT_EQ(shell_code(ended.exit), 125);
  EXPECT_EQ(daemon.log(), "berth: directory '/no/such/folder': No such file or directory\n");
}

/// As of sshfs whose connection broke: it may be mounted again.
TEST(Job, IsGivenBackWhereAFileSystemIsAway) {
  if (!Unanswered::has_own_mounts()) GTEST_SKIP() << "may not mount";
  Daemon first;
  Daemon second;
  Daemon third;
  mkdir((first.folder() / "away").c_str(), 0755);
  Unanswered away(first.folder() / "away");
  if (!away.is_there()) GTEST_SKIP() << "no FUSE";
  away.die();
  Order order = first.shell("echo ran");
  order.directory = first.folder() / "away";
  first.start(order);
  EXPECT_EQ(first.unstarted(),
            "directory '" + order.directory + "': Transport endpoint is not connected");
  EXPECT_EQ(first.gone(), 0);
  EXPECT_TRUE(first.record().shim);
  EXPECT_FALSE(first.record().go) << "as if none had tried";
  EXPECT_FALSE(first.record().exit);
  EXPECT_EQ(first.log(), "");

  order = second.shell("echo ran");
  order.arguments = {away.file()};
  second.start(order);
  EXPECT_THAT(second.unstarted(), HasSubstr("cannot run '" + away.file() + "': Transport"));
  order = third.shell("echo ran");
  order.output = away.file();
  third.start(order);
  EXPECT_THAT(third.unstarted(), HasSubstr("output file '" + away.file() + "': Transport"));
}

TEST(Job, HasExactlyTheEnvironmentItWasGiven) {
  Daemon daemon;
  Order order = daemon.shell("");
  order.arguments = {"/usr/bin/env"};
  order.environment = {"B=2", "A=1 with spaces", "EMPTY=", "B=3"};
  daemon.run(order);
  EXPECT_EQ(daemon.log(), "B=2\nA=1 with spaces\nEMPTY=\nB=3\n");
}

TEST(Job, RunsWhereAndHowItWasTold) {
  Daemon daemon;
  Order order = daemon.shell("pwd; umask; cat; echo \"$1|$2|$#\"");
  order.directory = "/";
  order.umask = 027;
  order.arguments.insert(order.arguments.end(), {"zero", "a b", ""});
  daemon.run(order);
  EXPECT_EQ(daemon.log(), "/\n0027\na b||2\n");
}

TEST(Job, HasTheLimitsOfWhoSubmittedItUpToItsHardOnes) {
  Daemon daemon;
  Order order = daemon.shell("ulimit -S -n; ulimit -S -c; ulimit -S -f; ulimit -H -n; env");
  order.environment = {"A=1", "BERTH_ULIMIT=nofile=200,core=0,fsize=unlimited,no=1,cpu=x",
                       "BERTH_ULIMITS=2"};
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  daemon.run(order);
  EXPECT_TRUE(daemon.log().starts_with("200\n0\nunlimited\n" + std::to_string(files.rlim_max)))
      << daemon.log();
  EXPECT_THAT(daemon.log(), AllOf(HasSubstr("\nA=1\n"), HasSubstr("\nBERTH_ULIMITS=2\n"),
                                  Not(HasSubstr("BERTH_ULIMIT="))));

  Daemon more;
  order.environment = {"BERTH_ULIMIT=nofile=" + std::to_string(files.rlim_max + 1)};
  more.run(order);
  EXPECT_TRUE(more.log().starts_with(std::to_string(files.rlim_max) + "\n")) << more.log();
}

TEST(Job, HasTheNicenessAndTheProcessorsOfWhoSubmittedIt) {
  Daemon daemon;
  Order order = daemon.shell("nice; grep ^Cpus_allowed_list /proc/self/status");
  order.environment = {"PATH=/usr/bin:/bin", "BERTH_ULIMIT=core=0,nice=19,cpus=0"};
  daemon.run(order);
  EXPECT_EQ(daemon.log(), "19\nCpus_allowed_list:\t0\n");

  Daemon more;
  order.environment = {"PATH=/usr/bin:/bin", "BERTH_ULIMIT=nice=19,cpus=1000"};  // it has no such
  more.run(order);
  EXPECT_TRUE(more.log().starts_with("19\nCpus_allowed_list:\t0")) << more.log();
}

TEST(Job, InheritsNothingButItsStreams) {
  Daemon daemon;
  Order order = daemon.shell("");
  order.arguments = {"ls", "/proc/self/fd"};
  daemon.run(order);
  EXPECT_EQ(daemon.log(), "0\n1\n2\n3\n");  // 3 is what ls reads
}

TEST(Job, HasEverySignalAtItsDefault) {
  Daemon daemon;
  Order order = daemon.shell("");
  order.arguments = {"grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"};
  daemon.run(order);
  EXPECT_EQ(daemon.log(), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(Job, LeadsASessionOfItsOwn) {
  Daemon daemon;
  daemon.start(daemon.shell("cut -d' ' -f5,6 /proc/$$/stat"));
  const std::string pid = std::to_string(daemon.started().pid);
  daemon.ended();
  EXPECT_EQ(daemon.log(), pid + " " + pid + "\n");
}

TEST(Job, KeepsTheOrderOfItsOutputAndErrors) {
  Daemon daemon;
  daemon.run(daemon.shell("for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done"));
  EXPECT_EQ(daemon.log(), "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\nout 4\nerr 4\nout 5\nerr 5\n");
}

TEST(Log, IsCappedOnceAndTheJobGoesOn) {
  Daemon daemon;
  Order order = daemon.shell("printf 12345678; printf abc; seq 100000; exit 3");
  order.log_cap = 10;
  const Ended ended = daemon.run(order);
  EXPECT_EQ(ended.exit.number, 3);
  EXPECT_EQ(ended.note, "log capped at 10 B");
  EXPECT_TRUE(daemon.log().starts_with("12345678ab\nberth: log capped at 10 bytes\n"));
}

/// What a job says last is why it failed.
TEST(Log, HasTheEndOfWhatIsBeyondItsCap) {
  Daemon daemon;
  Order order = daemon.shell("printf 1234567890; seq 100000 >all; cat all; exit 3");
  order.log_cap = 10;
  daemon.run(order);
  std::ifstream file(daemon.folder() / "all");
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  const std::size_t line = all.find('\n', all.size() - Log::kEnd) + 1;
  EXPECT_EQ(daemon.log(),
            "1234567890\nberth: log capped at 10 bytes\nberth: " + std::to_string(line) +
                " bytes are left out; the end of the output:\n" + all.substr(line));
}

TEST(Log, BeyondItsCapLeavesOutNothingOfALittle) {
  Daemon daemon;
  Order order = daemon.shell("printf 1234567890; printf abc; printf def");
  order.log_cap = 10;
  daemon.run(order);
  EXPECT_EQ(daemon.log(),
            "1234567890\nberth: log capped at 10 bytes\nberth: the rest of the output:\nabcdef");
}

/// One line without an end, as of a progress bar.
TEST(Log, HasTheEndOfALineThatIsLongerThanThat) {
  Daemon daemon;
  Order order =
      daemon.shell("printf 1234567890; head -c 200000 /dev/zero | tr '\\0' x; printf end");
  order.log_cap = 10;
  daemon.run(order);
  const std::string log = daemon.log();
  const std::size_t at = log.rfind("output:\n") + 8;
  EXPECT_EQ(log.size() - at, Log::kEnd);
  EXPECT_TRUE(log.ends_with("xend"));
  EXPECT_NE(log.find("183619 bytes are left out"), std::string::npos) << log.substr(0, 200);
}

TEST(Log, ThatIsExactlyFullIsNotCapped) {
  Daemon daemon;
  Order order = daemon.shell("printf 1234567890");
  order.log_cap = 10;
  EXPECT_EQ(daemon.run(order).note, "");
  EXPECT_EQ(daemon.log(), "1234567890");
}

TEST(Log, TakesMuchOutputWhole) {
  constexpr std::size_t kSize = 10'000'000;
  Daemon daemon;
  daemon.run(daemon.shell("yes 'nine char' | head -c " + std::to_string(kSize)));
  const std::string log = daemon.log();
  ASSERT_EQ(log.size(), kSize);
  for (std::size_t at = 0; at < kSize; at += 10) ASSERT_EQ(log.compare(at, 10, "nine char\n"), 0);
}

TEST(Log, ThatCannotBeWrittenEndsNoJob) {
  Daemon daemon;
  ASSERT_EQ(symlink("/dev/full", (daemon.folder() / "log").c_str()), 0);
  const Ended ended = daemon.run(daemon.shell("seq 100000; exit 4"));
  EXPECT_EQ(ended.exit.number, 4);
  EXPECT_EQ(ended.note, "log is not whole: No space left on device");
}

TEST(Job, HasTwoMegabytesOfEnvironment) {
  Daemon daemon;
  Order order = daemon.shell("");
  rlimit stack{};
  getrlimit(RLIMIT_STACK, &stack);
  if (stack.rlim_cur < 8 * 1024 * 1024) GTEST_SKIP() << "the stack limit is below 8 MiB";
  order.arguments = {"/usr/bin/env"};
  order.environment.clear();
  std::string expected;
  for (int i = 0; i < 20; ++i) {
    order.environment.push_back("V" + std::to_string(i) + "=" + std::string(100'000, 'x'));
    expected += order.environment.back() + "\n";
  }
  EXPECT_EQ(daemon.run(order).exit.number, 0);
  EXPECT_TRUE(daemon.log() == expected);
}

TEST(Job, RunsAsItsUser) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  Daemon daemon;
  chmod(daemon.folder().path().c_str(), 0755);
  Order order = daemon.shell(
      "id -u; id -g; id -G; grep -E 'CapEff|CapPrm' /proc/self/status | "
      "tr -d '\\t\\n'; test -w /proc/1/oom_score_adj || echo; "
      "test -w attempt || echo no");
  order.user = 65534;
  order.group = 65533;
  order.groups = {65533, 4242};
  const Ended ended = daemon.run(order);
  EXPECT_EQ(ended.exit.number, 0) << daemon.log();
  EXPECT_EQ(daemon.log(),
            "65534\n65533\n65533 4242\n"
            "CapPrm:0000000000000000CapEff:0000000000000000\nno\n");
  struct stat about{};
  ASSERT_EQ(stat((daemon.folder() / "log").c_str(), &about), 0);
  EXPECT_EQ(about.st_uid, 0U);
}

TEST(Job, OfAUserMayNotUseTheDirectoryOfAnother) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  Daemon daemon;
  Order order = daemon.shell("echo ran");
  order.user = order.group = 65534;  // the folder is root's, and closed
  const Ended ended = daemon.run(order);
  EXPECT_EQ(ended.exit.kind, Exit::Kind::Setup);
  EXPECT_EQ(ended.exit.number, EACCES);
}

TEST(Shim, HoldsTheLockAsLongAsItLives) {
  Daemon daemon;
  Fifo gate(daemon.folder() / "gate");
  daemon.start(daemon.shell("read line <" + gate.path()));
  daemon.started();
  EXPECT_TRUE(daemon.is_locked());
  EXPECT_FALSE(daemon.record().exit);
  gate.write("go\n");
  daemon.ended();
  EXPECT_EQ(daemon.gone(), 0);
  EXPECT_FALSE(daemon.is_locked());
  EXPECT_TRUE(daemon.record().exit);
}

TEST(Shim, GoesOnWithoutItsDaemon) {
  Daemon daemon;
  Fifo gate(daemon.folder() / "gate");
  daemon.start(daemon.shell("read line <" + gate.path() + "; echo after; exit 5"));
  daemon.started();
  daemon.hang_up();
  gate.write("go\n");
  EXPECT_EQ(daemon.gone(), 0);
  EXPECT_EQ(daemon.log(), "after\n");
  EXPECT_EQ(daemon.record().exit->number, 5);
}

TEST(Shim, WithoutAnOrderEndsWithItsDaemon) {
  Daemon daemon;
  daemon.hang_up();
  EXPECT_EQ(daemon.gone(), 0);
  Daemon told;
  told.signal(SIGTERM);  // perhaps before it is ready, so its exit may be by it
  told.gone();
}

TEST(Shim, RefusesBytesThatAreNoOrder) {
  Daemon daemon;
  daemon.send_bytes("nonsense");
  const Ended ended = daemon.ended();
  EXPECT_EQ(ended.exit.kind, Exit::Kind::Setup);
  EXPECT_EQ(ended.note, "order: came with 0 descriptors, the least is 2");
  EXPECT_EQ(daemon.gone(), 1);
}

TEST(Shim, StartedByHandSaysWhatItIs) {
  const auto ran = berth::test::run_program("berth-shim", {});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err, "berth-shim: is started by berthd, not by hand\n");
}

TEST(Shim, DiesAndItsJobWithIt) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  daemon.start(daemon.shell("echo ready >" + told.path() + "; exec sleep 1000"));
  const Process job = daemon.started();
  EXPECT_EQ(told.line(), "ready");
  const File watch = watch_process(job.pid);
  daemon.signal(SIGKILL);
  EXPECT_EQ(daemon.gone(), 128 + SIGKILL);
  EXPECT_TRUE(can_read(watch.number())) << "the job lives";
  EXPECT_FALSE(daemon.is_locked());
  EXPECT_FALSE(daemon.record().exit);
}

/// The sum of these lines of smaps_rollup.
long bytes_of(pid_t pid, const std::set<std::string>& lines) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
  long sum = 0;
  for (std::string word; file >> word;) {
    long kib = 0;
    if (lines.contains(word)) file >> kib;
    sum += kib * 1024;
  }
  return sum;
}

// Most of it is the program itself, which shims share: of each further one only the second counts.
TEST(Shim, NeedsLittleMoreThanItsProgramAndItsOwnPagesAreFew) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
  GTEST_SKIP() << "not the program that users get";
#endif
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  Fifo gate(daemon.folder() / "gate");
  Order order =
      daemon.shell("seq 100000; echo ready >" + told.path() + "; read line <" + gate.path());
  for (int i = 0; i < 10; ++i) {
    order.environment.push_back("V" + std::to_string(i) + "=" + std::string(100'000, 'x'));
  }
  daemon.start(order);
  daemon.started();
  EXPECT_EQ(told.line(), "ready");
  const long all = bytes_of(daemon.shim(), {"Private_Dirty:", "Private_Clean:"});
  const long own = bytes_of(daemon.shim(), {"Anonymous:"});
  RecordProperty("private_bytes", std::to_string(all));
  RecordProperty("anonymous_bytes", std::to_string(own));
  EXPECT_GT(own, 0);
  EXPECT_LE(own, 256 * 1024);
  EXPECT_LE(all, 1280 * 1024);
  gate.write("go\n");
  daemon.ended();
}

}  // namespace
}  // namespace berth::shim::test
