// Goal: the Gittins index is the published one, in both forms.
// Method: samples whose index is known by hand or by theory.
#include "policy/kit/gittins.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace berth {
namespace {

constexpr double kUnit = 1e-10;

std::vector<std::int64_t> quantiles(double (*inverse)(double)) {
  std::vector<std::int64_t> samples;
  for (int i = 0; i < 2000; ++i) samples.push_back(std::llround(inverse((i + 0.5) / 2000)));
  return samples;
}

TEST(Gittins, OneSampleIsCertain) {
  const GittinsIndex index(std::vector<std::int64_t>{100}, GittinsForm::Paper);
  EXPECT_EQ(index.at(0), std::llround(1.0 / 100 / kUnit));
  EXPECT_EQ(index.at(99), index.at(0)) << "as at its latest sample";
  EXPECT_EQ(index.at(100), 0);
}

TEST(Gittins, TheBestBudgetIsChosen) {
  // Of ten and ninety: a budget of 10 ends one half for 10, one of 90 ends all for (10 + 90) / 2.
  const GittinsIndex index(std::vector<std::int64_t>{90, 10}, GittinsForm::Paper);
  EXPECT_EQ(index.at(0), std::llround(0.5 / 10 / kUnit));
  EXPECT_EQ(index.at(10), std::llround(1.0 / 80 / kUnit));
}

TEST(Gittins, IsFlatWhereServiceHasNoMemory) {
  const auto samples = quantiles([](double u) { return -10'000 * std::log(1 - u); });
  const GittinsIndex index(samples, GittinsForm::Paper);
  const auto first = static_cast<double>(index.at(1'000));
  for (const std::int64_t attained : {3'000, 8'000, 15'000}) {
    EXPECT_NEAR(static_cast<double>(index.at(attained)) / first, 1, 0.05) << attained;
  }
}

TEST(Gittins, FallsWhereLongJobsGrowLonger) {
  const auto samples = quantiles([](double u) { return 100 / std::pow(1 - u, 1.5); });
  const GittinsIndex index(samples, GittinsForm::Paper);
  std::int64_t before = index.at(150);
  for (const std::int64_t attained : {400, 1'000, 4'000, 20'000}) {
    EXPECT_LT(index.at(attained), before) << attained;
    before = index.at(attained);
  }
}

TEST(Gittins, TheArtifactDoesNotSubtractWhatIsAttained) {
  const GittinsIndex index(std::vector<std::int64_t>{1'000, 2'000, 9'000}, GittinsForm::Artifact);
  // Within 3,250 of 999: two of three; 1,000 + 2,000 + 3,250 over three: 2083.33333.
  EXPECT_EQ(index.at(0), std::llround(0.66667 * 1e6 / 2083.33333 * 1e4));
  // From 1,999 on: one of two; (2,000 + 3,250) / 2.
  EXPECT_EQ(index.at(1'000), std::llround(0.5 * 1e6 / 2625 * 1e4));
  EXPECT_EQ(index.at(9'000), 0);
}

TEST(Gittins, WithoutSamplesNothingIsKnown) {
  const GittinsIndex index({}, GittinsForm::Paper);
  EXPECT_FALSE(index.is_known());
  EXPECT_EQ(index.at(5), 0);
}

}  // namespace
}  // namespace berth
