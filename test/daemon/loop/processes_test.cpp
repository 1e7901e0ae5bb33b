// Goal: a process is found to be the job's whose tree it is in, and what is killed of a job whose
// shim died is that job's and no other's. Method: real process trees that tell their pids
// through a pipe, with a process of ours as the shim; records made by hand.
#include "daemon/loop/processes.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <thread>
#include <vector>

#include "daemon/attempts/leftovers.hpp"
#include "daemon/tree.hpp"
#include "shim/proc.hpp"

namespace berth::daemon {
namespace {

using testing::HasSubstr;

using test::Tree;

constexpr uid_t kNobody = 65534;

/// Reaps it. Returns: whether a signal ended it, without waiting for one that lives.
bool was_killed(pid_t pid) {
  int status = 0;
  return ::waitpid(pid, &status, WNOHANG) == pid && WIFSIGNALED(status);
}

bool is_gone(pid_t pid) {
  const auto stat = shim::stat_of(pid);
  return !stat || shim::has_exited(*stat);
}

/// SIGKILL is sent, not waited for.
void wait_gone(pid_t pid) {
  for (int tries = 0; tries < 10'000 && !is_gone(pid); ++tries) ::usleep(1000);
  EXPECT_TRUE(is_gone(pid)) << pid;
}

shim::Process process(pid_t pid) { return {pid, shim::start_of(pid).value_or(0)}; }

Owner owner_of(pid_t pid, const Shims& shims) { return Kinship(shims).of(pid); }

// ---- Kinship -----------------------------------------------------------------------------------

TEST(Kinship, TheShimAndAllBelowAreTheJobs) {
  Tree tree;
  const pid_t shim = tree.grow([&] {
    if (::fork() == 0) {
      if (::fork() == 0) tree.tell_and_wait();
      tree.tell_and_wait();
    }
  });
  const Shims shims{{shim, JobId(4)}};
  for (int i = 0; i < 3; ++i) {
    const Owner owner = owner_of(tree.next(), shims);
    ASSERT_TRUE(std::holds_alternative<OfJob>(owner));
    EXPECT_EQ(std::get<OfJob>(owner).job, JobId(4));
  }
}

TEST(Kinship, ASessionOfItsOwnHidesNobody) {
  Tree tree;
  const pid_t shim = tree.grow([&] {
    if (::fork() == 0) {
      ::setsid();
      tree.tell_and_wait();
    }
  });
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(std::holds_alternative<OfJob>(owner_of(tree.next(), {{shim, JobId(4)}})));
  }
}

/// A shim is a subreaper: a process that loses its parent becomes the shim's child.
TEST(Kinship, AnOrphanIsTheSubreapers) {
  Tree tree;
  std::array<int, 2> gate{};
  ASSERT_EQ(::pipe(gate.data()), 0);
  const pid_t shim = tree.grow([&] {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t parent = ::fork();
    if (parent == 0) {
      if (::fork() == 0) tree.tell_and_wait();
      ::_exit(0);
    }
    ::waitpid(parent, nullptr, 0);
  });
  const pid_t first = tree.next();
  const pid_t second = tree.next();
  const pid_t orphan = first == shim ? second : first;
  ::close(gate[0]);
  ::close(gate[1]);
  EXPECT_TRUE(std::holds_alternative<OfJob>(owner_of(orphan, {{shim, JobId(4)}})));
}

/// A job can nest as deep as it likes: its memory must count as its own all the same.
TEST(Kinship, HoweverDeepItIs) {
  constexpr int kDepth = 400;
  Tree tree;
  const pid_t shim = tree.grow([&] {
    ::setpgid(0, 0);
    for (int depth = 0; depth < kDepth; ++depth) {
      if (::fork() > 0) {
        for (;;) ::pause();
      }
    }
  });
  const pid_t deepest = tree.next();
  const Shims shims{{shim, JobId(4)}};
  EXPECT_TRUE(std::holds_alternative<OfJob>(owner_of(deepest, shims)));
  EXPECT_TRUE(std::holds_alternative<OfStranger>(owner_of(deepest, {})));
  ::kill(-shim, SIGKILL);  // all at once: one after the other takes its time
}

/// What one look has found once it finds again without going all the way up.
TEST(Kinship, OfOneLookAgree) {
  Tree tree;
  const pid_t shim = tree.grow([&] {
    if (::fork() == 0) {
      if (::fork() == 0) tree.tell_and_wait();
      tree.tell_and_wait();
    }
  });
  const Shims shims{{shim, JobId(4)}};
  Kinship kinship(shims);
  for (int i = 0; i < 3; ++i) {
    const pid_t pid = tree.next();
    for (int again = 0; again < 2; ++again) {
      EXPECT_TRUE(std::holds_alternative<OfJob>(kinship.of(pid))) << pid;
    }
  }
  EXPECT_TRUE(std::holds_alternative<OfStranger>(kinship.of(::getpid())));
  EXPECT_TRUE(std::holds_alternative<OfStranger>(kinship.of(::getppid())));
}

TEST(Kinship, OthersAreStrangers) {
  Tree tree;
  const pid_t other = tree.grow();
  tree.next();
  EXPECT_TRUE(std::holds_alternative<OfStranger>(owner_of(other, {})));
  EXPECT_TRUE(std::holds_alternative<OfStranger>(owner_of(::getpid(), {{other, JobId(4)}})));
  EXPECT_TRUE(std::holds_alternative<OfStranger>(owner_of(1, {{other, JobId(4)}})));
}

TEST(Kinship, WhoIsNotThereIsNobody) {
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  EXPECT_TRUE(std::holds_alternative<OfNobody>(owner_of(gone, {})));
  EXPECT_TRUE(std::holds_alternative<OfNobody>(owner_of(0, {})));
}

TEST(Kinship, NamesAreNoTrick) {
  Tree tree;
  const pid_t shim = tree.grow([&] {
    if (::fork() == 0) {
      ::prctl(PR_SET_NAME, ") R 1 1 1 (");
      tree.tell_and_wait();
    }
  });
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(std::holds_alternative<OfJob>(owner_of(tree.next(), {{shim, JobId(4)}})));
  }
}

// ---- Exactly this process --------------------------------------------------------------------

TEST(OpenProcess, OpensTheOneThatStartedThen) {
  Tree tree;
  const pid_t pid = tree.grow();
  tree.next();
  EXPECT_TRUE(open_process(process(pid)));
  const auto later = open_process({pid, process(pid).start + 1});
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code, ErrorCode::NotFound);
  EXPECT_THAT(later.error().message, HasSubstr("process " + std::to_string(pid)));
}

TEST(OpenProcess, AZombieHasEnded) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  const shim::Process it = process(pid);
  ::kill(pid, SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  EXPECT_FALSE(open_process(it));
  ::waitpid(pid, nullptr, 0);
  EXPECT_FALSE(open_process(it));
}

TEST(SendSignal, ToOneThatHasEndedIsNoError) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  auto opened = open_process(process(pid));
  ASSERT_TRUE(opened);
  send_signal(*opened, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  send_signal(*opened, SIGKILL);
}

// ---- What is left of a job -------------------------------------------------------------------

/// The record of a job that runs as the user of the tests.
shim::Record record_of(std::optional<shim::Process> go) {
  return {.job = JobId(4'000'000'001), .attempt = Attempt(2), .user = ::getuid(), .go = go};
}

/// This run's own: another one of these tests may look for its processes at the same time.
const std::string kMark = "BERTH_REPORT=/somewhere/" + std::to_string(::getpid()) + ".report";
const std::vector<std::string> kMarks = {"A=1", "BERTH_JOB_ID=4000000001", "BERTH_ATTEMPT=2",
                                         kMark};

/// Returns: how many it killed.
int kill_left_behind(const shim::Record& record, const std::string& mark) {
  const std::vector<Leftover> left = {{.record = record, .cgroup = ""}};
  Killed killed;
  kill_in_sessions(left, killed);
  kill_marked(left, mark, killed);
  return static_cast<int>(killed[{record.job, record.attempt}].size());
}

TEST(KillLeftBehind, TheSessionOfTheJobsProcessGoes) {
  Tree tree;
  tree.grow([&] {
    ::setsid();
    if (::fork() == 0) tree.tell_and_wait();
  });
  const pid_t first = tree.next();
  const pid_t second = tree.next();
  const pid_t leader = ::getsid(first);
  EXPECT_EQ(kill_left_behind(record_of(process(leader)), kMark), 2);
  wait_gone(first);
  wait_gone(second);
  EXPECT_EQ(kill_left_behind(record_of(shim::Process{leader, 1}), kMark), 0);
}

TEST(KillLeftBehind, WhoOutlivedTheLeaderGoesToo) {
  Tree tree;
  const pid_t leader = ::fork();
  if (leader == 0) {
    ::setsid();
    if (::fork() == 0) tree.tell_and_wait();
    ::pause();
    ::_exit(0);
  }
  const pid_t member = tree.next();
  const shim::Process go = process(leader);
  ::kill(leader, SIGKILL);
  ::waitpid(leader, nullptr, 0);
  EXPECT_EQ(kill_left_behind(record_of(go), kMark), 1);
  wait_gone(member);
}

/// After a reboot, or when numbers are reused, a session of the same number is another's.
TEST(KillLeftBehind, ALaterSessionWithTheSameNumberStays) {
  Tree tree;
  tree.grow([] { ::setsid(); });
  const pid_t leader = tree.next();
  shim::Process before = process(leader);
  before.start -= 1;
  EXPECT_EQ(kill_left_behind(record_of(before), kMark), 0);
  before.start += 2;
  EXPECT_EQ(kill_left_behind(record_of(before), kMark), 0);
  EXPECT_FALSE(is_gone(leader));
}

TEST(KillLeftBehind, WhoCarriesTheMarksGoesWhereverItIs) {
  Tree tree;
  const pid_t marked = tree.run(kMarks, [] { ::setsid(); });
  EXPECT_EQ(kill_left_behind(record_of(std::nullopt), kMark), 1);
  wait_gone(marked);
  EXPECT_TRUE(was_killed(marked));
  EXPECT_EQ(kill_left_behind(record_of(std::nullopt), kMark), 0);  // a zombie needs no more
}

TEST(KillLeftBehind, OthersStay) {
  Tree tree;
  const std::vector<pid_t> others = {
      tree.run({"A=1"}),
      tree.run({"BERTH_JOB_ID=4000000001", kMark}),
      tree.run({"BERTH_JOB_ID=4000000001", "BERTH_ATTEMPT=1", kMark}),
      tree.run({"BERTH_JOB_ID=40000000011", "BERTH_ATTEMPT=2", kMark}),
      tree.run({"XBERTH_JOB_ID=4000000001", "BERTH_ATTEMPT=2", kMark}),
      tree.run({"A=BERTH_JOB_ID=4000000001", "BERTH_ATTEMPT=2", kMark}),
      tree.run({}),
  };
  EXPECT_EQ(kill_left_behind(record_of(std::nullopt), kMark), 0);
  for (const pid_t pid : others) EXPECT_FALSE(is_gone(pid)) << pid;
}

/// Every daemon counts its jobs from 1.
TEST(KillLeftBehind, AJobOfAnotherDaemonStays) {
  Tree tree;
  const pid_t other = tree.run(
      {"BERTH_JOB_ID=4000000001", "BERTH_ATTEMPT=2", "BERTH_REPORT=/elsewhere/berth-test.report"});
  EXPECT_EQ(kill_left_behind(record_of(std::nullopt), kMark), 0);
  EXPECT_FALSE(is_gone(other));
}

TEST(KillLeftBehind, AnotherUsersProcessStaysWhateverItCarries) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  Tree tree;
  const auto become_nobody = [] {
    ::setsid();
    if (::setgroups(0, nullptr) != 0 || ::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(1);
  };
  const pid_t other = tree.run(kMarks, become_nobody);
  EXPECT_EQ(kill_left_behind(record_of(process(other)), kMark), 0);
  EXPECT_FALSE(is_gone(other));
  shim::Record theirs = record_of(process(other));
  theirs.user = kNobody;
  EXPECT_EQ(kill_left_behind(theirs, kMark), 1);
  wait_gone(other);
}

/// What forks faster than a list of all processes is read: it tells once that it runs, with `x`,
/// and at last, after a long while, with `e` that nothing ended it.
struct Fugitive {
  const char* name;
  const char* program;  ///< Of perl.
};

constexpr Fugitive kFugitives[] = {
    {"a job that forks",
     "for (1..5000) { if (fork) { select(undef, undef, undef, 0.002); exit } POSIX::setsid(); "
     "syswrite(STDOUT, 'x') if $_ == 20 } syswrite(STDOUT, 'e')"},
    {"a chain of forks",
     "for (1..100000) { exit if fork; POSIX::setsid(); syswrite(STDOUT, 'x') if $_ == 20 } "
     "syswrite(STDOUT, 'e')"},
    {"a chain in one session",
     "for (1..100000) { exit if fork; syswrite(STDOUT, 'x') if $_ == 20 } "
     "syswrite(STDOUT, 'e')"},
    {"a bomb",
     "my $t = time; for (1..4) { fork; POSIX::setsid(); } syswrite(STDOUT, 'x'); "
     "while (time < $t + 60) { exit if fork; } syswrite(STDOUT, 'e')"},
};

void expect_that_nothing_is_left_of(const Fugitive& fugitive) {
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe(told.data()), 0);
  const pid_t first = ::fork();
  if (first == 0) {
    ::setsid();
    ::dup2(told[1], STDOUT_FILENO);
    ::close(told[0]), ::close(told[1]);
    std::vector<std::string> marks = kMarks;
    std::vector<char*> words;
    for (std::string& variable : marks) words.push_back(variable.data());
    words.push_back(nullptr);
    ::execle("/usr/bin/perl", "perl", "-MPOSIX", "-e", fugitive.program, nullptr, words.data());
    ::_exit(127);
  }
  ::close(told[1]);
  char byte = 0;
  ASSERT_EQ(::read(told[0], &byte, 1), 1) << "perl is needed";
  const std::vector<Leftover> left = {{.record = record_of(process(first)), .cgroup = ""}};
  Killed killed;
  while (kill_in_sessions(left, killed) + kill_marked(left, kMark, killed) > 0) {
  }
  std::string rest;
  while (::read(told[0], &byte, 1) > 0) rest += byte;  // until the last that could write has gone
  EXPECT_EQ(rest.find('e'), std::string::npos) << "it ended by itself";
  ::close(told[0]);
  ::waitpid(first, nullptr, 0);
}

/// One test for all: at once they would take the processors from each other.
TEST(KillFugitives, UntilNothingIsLeft) {
  for (const Fugitive& fugitive : kFugitives) {
    SCOPED_TRACE(fugitive.name);
    expect_that_nothing_is_left_of(fugitive);
  }
}

// ---- Names -----------------------------------------------------------------------------------

TEST(Processes, HaveNamesAndUsers) {
  Tree tree;
  const pid_t pid = tree.run({});
  EXPECT_EQ(process_name(pid), "sleep");
  EXPECT_EQ(process_user(pid), ::getuid());
  EXPECT_EQ(process_name(0), "");
  EXPECT_EQ(process_user(0), std::nullopt);
}

TEST(Processes, PathsOfOthersStayAsTheyAre) {
  const std::string own = "/proc/" + std::to_string(::getpid()) + "/cwd/s";
  for (const std::string& path : {own, std::string("/proc/1/root/s"), std::string("/tmp/s")}) {
    EXPECT_EQ(path_from_here(path, ::getpid()), path);
    EXPECT_EQ(path_from_here(path, 0), path);
  }
}

/// Helpers tell berthd names in lines of their own.
TEST(Processes, NameThemselvesOnOneLine) {
  std::array<char, 16> before{};
  ::prctl(PR_GET_NAME, before.data());
  ::prctl(PR_SET_NAME, "x\ndone\n\x7fy\n");
  EXPECT_EQ(process_name(::getpid()), "x?done??y");
  ::prctl(PR_SET_NAME, before.data());
}

TEST(UserNames, AreThoseOfTheAccountsElseNumbers) {
  UserNames names;
  EXPECT_EQ(names.of(0), "root");
  EXPECT_EQ(names.of(0), "root");
  EXPECT_EQ(names.of(3'999'999'999U), "3999999999");
}

TEST(ShimTable, GivesTheLatest) {
  ShimTable table;
  EXPECT_TRUE(table.get()->empty());
  table.set({{5, JobId(1)}});
  const auto before = table.get();
  table.set({});
  EXPECT_EQ(before->at(5), JobId(1));  // a reader keeps what it took
  EXPECT_TRUE(table.get()->empty());
}

// ---- Accounts ----------------------------------------------------------------------------------

/// Users 0 to 99, of which a machine has some.
std::vector<std::string> names_of_many() {
  std::vector<std::string> names;
  UserNames of;
  for (uid_t user = 0; user < 100; ++user) names.push_back(of.of(user));
  return names;
}

TEST(UserNames, AreEachThreadsOwn) {
  const std::vector<std::string> alone = names_of_many();
  EXPECT_EQ(alone[0], "root");
  std::array<std::vector<std::string>, 4> beside;
  {
    std::vector<std::jthread> threads;
    for (std::vector<std::string>& names : beside) {
      threads.emplace_back([&names] { names = names_of_many(); });
    }
  }
  for (const std::vector<std::string>& names : beside) EXPECT_EQ(names, alone);
}

}  // namespace
}  // namespace berth::daemon
