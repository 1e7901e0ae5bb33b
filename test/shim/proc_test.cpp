// Goal: a signal goes to those that have a handler for it, and not to one that may be about to
// execute a program which has none.
#include "shim/proc.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <ctime>

namespace berth::shim::test {
namespace {

constexpr std::uint64_t kHasNotExecuted = 0x40;

/// In clock ticks since boot, an hour from now: a moment that a slow machine does not outlast.
std::uint64_t later() {
  constexpr std::int64_t kHour = 3600;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>((now.tv_sec + kHour) * sysconf(_SC_CLK_TCK));
}

/// This process, with a handler for SIGUSR1.
class Takes : public testing::Test {
 protected:
  Takes() {
    former_ = signal(SIGUSR1, [](int) {});
  }
  ~Takes() override { signal(SIGUSR1, former_); }

  Stat self_ = stat_of(getpid()).value_or(Stat{});

 private:
  sighandler_t former_ = SIG_DFL;
};

TEST_F(Takes, ThatHasAHandler) {
  self_.flags &= ~kHasNotExecuted;
  EXPECT_TRUE(takes(self_, SIGUSR1));
  EXPECT_FALSE(takes(self_, SIGUSR2));
}

TEST_F(Takes, NotThatWasForkedAMomentAgo) {
  self_.flags |= kHasNotExecuted;
  self_.start = later();
  EXPECT_FALSE(takes(self_, SIGUSR1));
  self_.start = 0;
  EXPECT_TRUE(takes(self_, SIGUSR1));
}

TEST_F(Takes, ThatExecutedWhateverItsAge) {
  self_.flags &= ~kHasNotExecuted;
  self_.start = later();
  EXPECT_TRUE(takes(self_, SIGUSR1));
}

}  // namespace
}  // namespace berth::shim::test
