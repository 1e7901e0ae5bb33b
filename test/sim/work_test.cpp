// Goal: no rate, however odd, loses a microsecond of work or runs over what 64 bits hold.
// Method: figures worked out by hand, and a job cut into many pieces.
#include "sim/work.hpp"

#include <gtest/gtest.h>

namespace berth::sim {
namespace {

TEST(Work, TakesItsTimeAtFullSpeedAndLongerBelow) {
  const Work work(seconds(100));
  EXPECT_EQ(work.time_at(kFullSpeed), seconds(100));
  EXPECT_EQ(work.time_at(Rate(500'000)), seconds(200));
  EXPECT_EQ(work.time_at(Rate(2'000'000)), seconds(50));
  EXPECT_EQ(work.time_at(Rate(333'333)), Duration(300'000'301));  // 1e14 / 333,333, rounded up
}

TEST(Work, WhatIsDoneIsOffToTheMillionthOfAMicrosecond) {
  Work work(Duration(10));
  work.advance(Duration(1), Rate(333'333));  // 9.666667 are left
  EXPECT_EQ(work.left(), Duration(10));
  EXPECT_EQ(work.time_at(kFullSpeed), Duration(10));
  work.advance(Duration(2), Rate(333'333));  // 9.000001
  work.advance(Duration(1), Rate(1'000));    // 8.999001
  EXPECT_EQ(work.left(), Duration(9));
  EXPECT_EQ(work.time_at(Rate(1'000)), Duration(8'999'001 / 1'000 + 1));
}

TEST(Work, ManyPiecesAreAsGoodAsOne) {
  const Rate rate(777'777);
  Work pieces(seconds(1000));
  Work one(seconds(1000));
  for (int i = 0; i < 1000; ++i) pieces.advance(Duration(123'457), rate);
  one.advance(Duration(123'457'000), rate);
  EXPECT_EQ(pieces, one);
}

TEST(Work, IsNeverBelowZero) {
  Work work(Duration(5));
  work.advance(seconds(1), kFullSpeed);
  EXPECT_EQ(work.left(), Duration(0));
  EXPECT_EQ(work.time_at(Rate(1'000)), Duration(0));
}

TEST(Work, ACenturyAtTheLeastRateFits) {
  const Duration century = hours(24 * 365 * 100);
  Work work(century);
  EXPECT_EQ(work.time_at(Rate(Rate::kLeast)), 1000 * century);
  work.advance(1000 * century - Duration(1000), Rate(Rate::kLeast));
  EXPECT_EQ(work.left(), Duration(1));
  Work fast(century);
  fast.advance(century / 100, Rate(Rate::kMost));
  EXPECT_EQ(fast.left(), Duration(0));
}

TEST(Rate, StaysWithinItsBoundsAndMultipliesDown) {
  EXPECT_EQ(Rate(0).ppm(), Rate::kLeast);
  EXPECT_EQ(Rate(-5).ppm(), Rate::kLeast);
  EXPECT_EQ(Rate(Rate::kMost + 1).ppm(), Rate::kMost);
  EXPECT_EQ((Rate(500'000) * Rate(333'333)).ppm(), 166'666);
  EXPECT_EQ((Rate(Rate::kMost) * Rate(Rate::kMost)).ppm(), Rate::kMost);
}

}  // namespace
}  // namespace berth::sim
