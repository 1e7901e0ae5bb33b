// Goal: percentiles are those of the sorted values, however the values come.
// Method: drawn values, each percentile worked out again from a sort.
#include "sim/spread.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/rng.hpp"

namespace berth::sim {
namespace {

double percentile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(at));
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - std::floor(at));
}

TEST(SpreadTest, PercentilesAreBetweenClosestRanks) {
  Rng rng(1);
  for (std::size_t count = 1; count <= 120; ++count) {
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(static_cast<double>(rng.between(0, 40)));  // some of them are equal
    }
    const Spread spread = spread_of(values);
    std::ranges::sort(values);
    ASSERT_EQ(spread.count, count);
    ASSERT_DOUBLE_EQ(spread.median, percentile(values, 0.5));
    ASSERT_DOUBLE_EQ(spread.p90, percentile(values, 0.9));
    ASSERT_DOUBLE_EQ(spread.p95, percentile(values, 0.95));
    ASSERT_DOUBLE_EQ(spread.p99, percentile(values, 0.99));
    ASSERT_DOUBLE_EQ(spread.max, values.back());
  }
  EXPECT_FALSE(spread_of({}).known(&Spread::mean));
}

}  // namespace
}  // namespace berth::sim
