// Goal: a client passes on what it was sent, and what it was started to ignore stays ignored, as by
// nohup. Method: the test's own process is sent them.
#include "cli/attend/signal_queue.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace berth::cli {
namespace {

TEST(SignalQueue, HasWhatIsSent) {
  const SignalQueue queue;
  ASSERT_EQ(std::raise(SIGHUP), 0);
  const auto sent = queue.next();
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->number, SIGHUP);
  EXPECT_FALSE(sent->is_of_a_key);
  EXPECT_FALSE(queue.next().has_value());
}

TEST(SignalQueue, LeavesAloneWhatIsIgnored) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  {
    const SignalQueue queue;
    ASSERT_EQ(std::raise(SIGHUP), 0);
    ASSERT_EQ(std::raise(SIGTERM), 0);
    const auto sent = queue.next();
    ASSERT_TRUE(sent.has_value());
    EXPECT_EQ(sent->number, SIGTERM);
    EXPECT_FALSE(queue.next().has_value());
  }
  std::signal(SIGHUP, before);
}

}  // namespace
}  // namespace berth::cli
