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
  EXPECT_TRUE(std::ranges::is_sorted(figures(), {}, &Figure::topic)) << "a table each";
  const auto& fairness = *std::ranges::find(figures(), "fairness", &Figure::key);
  EXPECT_EQ(to_text(fairness, fairness.value(nothing)), "-");
}

TEST(Figures, AreWhatTheTopicOfATableSays) {
  Metrics alone;
  EXPECT_TRUE(figures_of(std::span(&alone, 1), Topic::Fairness).empty()) << "no users";
  EXPECT_TRUE(figures_of(std::span(&alone, 1), Topic::Stability).empty()) << "a perfect machine";
  alone.users = UserFigures{.users = 2, .service = 0.5};
  const auto shown = figures_of(std::span(&alone, 1), Topic::Fairness);
  const auto has = [&](std::string_view key) {
    return std::ranges::find(shown, key, &Figure::key) != shown.end();
  };
  EXPECT_TRUE(has("service_fairness"));
  EXPECT_FALSE(has("least_service"));
}

TEST(Figures, HaveTheLeastThatAnyScheduleCanReach) {
  std::vector<Metrics> seeds(2);
  const auto& jct = *std::ranges::find(figures(), "jct_seconds_mean", &Figure::key);
  const auto& wait = *std::ranges::find(figures(), "wait_seconds_mean", &Figure::key);
  EXPECT_FALSE(least_of(jct, seeds));
  seeds[0].bound = Bound{.jobs = 1, .jct = 100, .wait = std::nullopt};
  seeds[1].bound = Bound{.jobs = 1, .jct = 200, .wait = std::nullopt};
  EXPECT_DOUBLE_EQ(least_of(jct, seeds)->mean, 150);
  EXPECT_FALSE(least_of(wait, seeds));
  EXPECT_FALSE(least_of(figures().front(), seeds)) << "no bound says how many jobs end";
}

}  // namespace
}  // namespace berth::sim
