// Goal: times that say "no bound" never wrap around into a bound.
// Method: the edges of later(), and that the clock cannot be read.
#include "core/base/time.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

template <class Clock>
concept HasNow = requires { Clock::now(); };

static_assert(!HasNow<EngineClock>, "code below the shells must not be able to read the time");
static_assert(HasNow<std::chrono::steady_clock>, "the concept sees a clock that can");
static_assert(std::is_same_v<Duration::rep, std::int64_t>);

TEST(Later, AddsWithinRange) {
  EXPECT_EQ(later(kStart, seconds(5)), kStart + seconds(5));
  EXPECT_EQ(later(kStart + seconds(5), seconds(-2)), kStart + seconds(3));
  EXPECT_EQ(later(kStart, Duration::zero()), kStart);
}

TEST(Later, NoBoundStaysNoBound) {
  EXPECT_EQ(later(kNever, seconds(1)), kNever);
  EXPECT_EQ(later(kNever, seconds(-1)), kNever);
  EXPECT_EQ(later(kStart, kForever), kNever);
  EXPECT_EQ(later(kNever, kForever), kNever);
}

TEST(Later, OverflowIsNoBound) {
  const Instant nearly = kNever - Duration(1);
  EXPECT_EQ(later(nearly, Duration(1)), kNever);
  EXPECT_EQ(later(nearly, Duration(2)), kNever);
  EXPECT_EQ(later(nearly - seconds(1), seconds(1)), nearly);
  EXPECT_EQ(later(kStart + seconds(1), kForever - Duration(1)), kNever);
}

TEST(Micros, RoundTrips) {
  for (const std::int64_t count : {0LL, 1LL, -1LL, 1'234'567LL, -9'000'000'000LL}) {
    EXPECT_EQ(micros(instant_from_micros(count)), count);
    EXPECT_EQ(micros(Duration(count)), count);
  }
  EXPECT_EQ(hours(1), minutes(60));
  EXPECT_EQ(micros(seconds(1)), 1'000'000);
}

}  // namespace
}  // namespace berth
