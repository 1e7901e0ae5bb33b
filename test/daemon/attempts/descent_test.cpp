// Goal: what is below a process is found whole and nothing else is, by the kernel's lists of
// children and without them. Method: real process trees that tell their pids through a pipe.
#include "daemon/attempts/descent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <thread>

#include "daemon/tree.hpp"

namespace berth::daemon {
namespace {

using test::Tree;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

/// Both ways of looking, one of which this kernel may not have.
class Descent : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !listed_below(::getpid())) GTEST_SKIP() << "no lists of children here";
  }
  static std::vector<pid_t> below(pid_t top) {
    std::vector<pid_t> pids;
    for (const shim::Process& process : GetParam() ? *listed_below(top) : found_below(top)) {
      EXPECT_EQ(process.start, shim::start_of(process.pid));
      pids.push_back(process.pid);
    }
    return pids;
  }
};

TEST_P(Descent, FindsAllBelowAndNotTheTop) {
  Tree tree;
  const pid_t other = tree.grow();
  tree.next();
  const pid_t top = tree.grow([&] {
    if (::fork() == 0) {
      ::setsid();
      if (::fork() == 0) tree.tell_and_wait();
      tree.tell_and_wait();
    }
    if (::fork() == 0) tree.tell_and_wait();
  });
  std::vector<pid_t> expected;
  for (int i = 0; i < 4; ++i) {
    const pid_t pid = tree.next();
    if (pid != top) expected.push_back(pid);
  }
  EXPECT_THAT(below(top), UnorderedElementsAreArray(expected));
  EXPECT_THAT(below(other), IsEmpty());
}

/// The children of a thread are in that thread's list.
TEST_P(Descent, FindsTheChildrenOfEveryThread) {
  Tree tree;
  const pid_t top = tree.grow([&] {
    std::thread([&] {
      if (::fork() == 0) tree.tell_and_wait();
      tree.tell_and_wait();
    }).join();
  });
  const pid_t first = tree.next();
  const pid_t second = tree.next();
  EXPECT_THAT(below(top), testing::ElementsAre(first == top ? second : first));
}

TEST_P(Descent, FindsOrphansBelowTheSubreaper) {
  Tree tree;
  const pid_t top = tree.grow([&] {
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
  EXPECT_THAT(below(top), testing::ElementsAre(first == top ? second : first));
}

TEST_P(Descent, FindsAllHoweverDeep) {
  constexpr int kDepth = 200;
  Tree tree;
  const pid_t top = tree.grow([&] {
    ::setpgid(0, 0);
    for (int depth = 0; depth < kDepth; ++depth) {
      if (::fork() > 0) {
        for (;;) ::pause();
      }
    }
  });
  tree.next();  // the deepest
  EXPECT_EQ(below(top).size(), kDepth);
  ::kill(-top, SIGKILL);
}

TEST_P(Descent, PassesOverWhatHasEnded) {
  Tree tree;
  const pid_t top = tree.grow([&] {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  });
  EXPECT_EQ(tree.next(), top);
  EXPECT_THAT(below(top), IsEmpty());
  EXPECT_THAT(below(0x3fffff), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Ways, Descent, testing::Values(true, false),
                         [](const auto& way) { return way.param ? "ByChildren" : "ByParents"; });

}  // namespace
}  // namespace berth::daemon
