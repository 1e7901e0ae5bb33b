// Goal: a curve says what a job uses at any moment of its work, and is read as it is written.
// Method: small curves worked out by hand.
#include "trace/use_curve.hpp"

#include <gtest/gtest.h>

#include <string>

namespace berth::trace {
namespace {

using namespace literals;

TEST(UseCurve, LinesAreStraightBetweenPointsAndFlatBeyondThem) {
  const UseCurve curve({{seconds(10), 100_MiB}, {seconds(30), 500_MiB}, {seconds(40), 200_MiB}});
  EXPECT_EQ(curve.at(Duration(0)), 100_MiB);
  EXPECT_EQ(curve.at(seconds(10)), 100_MiB);
  EXPECT_EQ(curve.at(seconds(15)), 200_MiB);
  EXPECT_EQ(curve.at(seconds(30)), 500_MiB);
  EXPECT_EQ(curve.at(seconds(35)), 350_MiB);
  EXPECT_EQ(curve.at(hours(9)), 200_MiB);
  EXPECT_EQ(curve.peak(), 500_MiB);
}

TEST(UseCurve, TheLargestCurveThereIsDoesNotOverflow) {
  const auto curve = parse_use_curve("0:0|3162240000:1073741824");
  ASSERT_TRUE(curve.has_value());
  EXPECT_EQ(curve->at(seconds(1'581'120'000)), Bytes(std::int64_t{1} << 49));
}

TEST(UseCurve, ALineIsFollowedInStepsOf64MiBAtLeastAndAtMost32) {
  const auto steps = [](const UseCurve& curve, Duration done) {
    std::vector<Duration> all;
    while ((done = curve.next_step(done)) != kForever) all.push_back(done);
    return all;
  };
  const UseCurve flat({{seconds(5), 100_MiB}, {seconds(9), 100_MiB}});
  EXPECT_EQ(steps(flat, Duration(0)), (std::vector<Duration>{seconds(5), seconds(9)}));
  const UseCurve rises({{Duration(0), 0_MiB}, {seconds(10), 200_MiB}});
  EXPECT_EQ(steps(rises, Duration(0)),
            (std::vector{Duration(3'333'334), Duration(6'666'667), seconds(10)}));
  EXPECT_EQ(steps(rises, seconds(5)), (std::vector{Duration(6'666'667), seconds(10)}));
  const UseCurve falls({{Duration(0), 16_GiB}, {seconds(32), 0_GiB}});
  EXPECT_EQ(steps(falls, Duration(0)).size(), 32U);
  const UseCurve sudden({{Duration(0), 0_GiB}, {Duration(3), 16_GiB}});
  EXPECT_EQ(steps(sudden, Duration(0)), (std::vector{Duration(1), Duration(2), Duration(3)}));
}

TEST(UseCurve, ACopyIsItsOwn) {
  UseCurve one = *parse_use_curve("0:5");
  const UseCurve other = one;
  one = UseCurve();
  EXPECT_TRUE(one.empty());
  EXPECT_EQ(other.at(seconds(1)), 5_MiB);
  EXPECT_EQ(one.peak(), Bytes(0));
  EXPECT_FALSE(one == other);
}

TEST(UseCurve, TheMostPointsAreReadAndNoMore) {
  std::string text;
  for (std::size_t i = 0; i < UseCurve::kMostPoints; ++i) text += std::to_string(i) + ":1|";
  const auto most = parse_use_curve(text);
  ASSERT_TRUE(most.has_value());
  EXPECT_EQ(to_text(*most) + "|", text);
  EXPECT_FALSE(parse_use_curve(text + "5000:1").has_value());
}

TEST(UseCurve, CostsAJobThatHasNoneAPointer) { EXPECT_EQ(sizeof(UseCurve), sizeof(void*)); }

}  // namespace
}  // namespace berth::trace
