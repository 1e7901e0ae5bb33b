// Goal: gaps between stays say when a run fits in, and spans that overlap when enough do.
// Method: stays worked out by hand.
#include "policy/backfill/gaps.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

Instant at(std::int64_t second) { return kStart + seconds(second); }

TEST(Gaps, AreWhatStaysLeave) {
  const auto gaps = gaps_between({{at(30), at(40)}, {Instant::min(), at(10)}, {at(5), at(20)}});
  ASSERT_EQ(gaps.size(), 2U);
  EXPECT_EQ(gaps[0].from, at(20));
  EXPECT_EQ(gaps[0].to, at(30));
  EXPECT_EQ(gaps[1].from, at(40));
  EXPECT_EQ(gaps[1].to, kNever);
  EXPECT_EQ(gaps[0].first(at(0), seconds(10)), at(20));
  EXPECT_EQ(gaps[0].first(at(21), seconds(10)), std::nullopt);
  EXPECT_EQ(gaps[0].last(seconds(4)), at(26));
  EXPECT_EQ(gaps[1].first(at(50), kForever), at(50));
  EXPECT_TRUE(gaps[0].meets(at(29), at(35)));
  EXPECT_FALSE(gaps[0].meets(at(30), at(35)));
}

TEST(Gaps, TheLongestIsNeverTooShort) {
  LongestGaps longest(at(0), at(1000));
  longest.add({at(20), at(30)});
  longest.add({at(500), kNever});
  longest.sum();
  EXPECT_TRUE(longest.may_have(at(100), seconds(10)));
  EXPECT_FALSE(longest.may_have(at(100), seconds(11)));
  EXPECT_TRUE(longest.may_have(at(501), kForever));
  EXPECT_FALSE(longest.may_have(at(0), seconds(1))) << "nothing begins before now";
}

TEST(Overlap, IsTheFirstTimeAtWhichAsManyMayBegin) {
  Overlap overlap;
  overlap.add(at(0), at(5));
  overlap.add(at(10), at(20));
  overlap.add(at(20), kNever);
  EXPECT_EQ(overlap.first_of(1), at(0));
  EXPECT_EQ(overlap.first_of(2), at(20)) << "the last instant of one is the first of the other";
  EXPECT_EQ(overlap.first_of(3), std::nullopt);
}

}  // namespace
}  // namespace berth
