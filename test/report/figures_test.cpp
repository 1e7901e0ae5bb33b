// Goal: what several seeds say of a figure is its mean and Student's confidence interval.
// Method: samples whose intervals are in textbooks.
#include "report/figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace berth::sim {
namespace {

TEST(Intervals, AreStudentsForSmallSamples) {
  const auto five = interval_of(std::vector<double>{1, 2, 3, 4, 5});
  ASSERT_TRUE(five);
  EXPECT_DOUBLE_EQ(five->mean, 3);
  EXPECT_NEAR(*five->half, 1.963, 0.001);  // 2.776 x 1.5811 / sqrt(5)
  const auto two = interval_of(std::vector<double>{0, 2});
  EXPECT_NEAR(*two->half, 12.706, 0.001);
}

TEST(Intervals, BeyondTheTableComeNearTheNormalDistribution) {
  std::vector<double> values;
  for (int i = 0; i < 61; ++i) values.push_back(i % 2 == 0 ? 1 : -1);
  const auto interval = interval_of(values);
  EXPECT_NEAR(*interval->half, 2.000 * 1.00813 / std::sqrt(61), 0.001);  // t of 60: 2.000
}

TEST(Intervals, OneValueHasNoneAndNoValueNoMean) {
  const auto one = interval_of(std::vector<double>{7});
  ASSERT_TRUE(one);
  EXPECT_DOUBLE_EQ(one->mean, 7);
  EXPECT_FALSE(one->half);
  EXPECT_FALSE(interval_of(std::vector<double>{}));
}

TEST(Figures, HaveKeysOfTheirOwnAndADashWhereTheyMeanNothing) {
  std::set<std::string_view> keys;
  const Metrics nothing;
  for (const Figure& figure : figures()) {
    EXPECT_TRUE(keys.insert(figure.key).second) << figure.key;
    EXPECT_NE(to_text(figure, figure.value(nothing)), "") << figure.key;
  }
  const auto& fairness = *std::ranges::find(figures(), "fairness", &Figure::key);
  EXPECT_EQ(to_text(fairness, fairness.value(nothing)), "-");
}

}  // namespace
}  // namespace berth::sim
