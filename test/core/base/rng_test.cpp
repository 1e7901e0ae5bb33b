// Goal: the same numbers on every machine and compiler, from seed and stream alone.
// Method: pinned values, copies, and rough statistics that a broken generator fails.
#include "core/base/rng.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <set>

namespace berth {
namespace {

static_assert([] {
  Rng a(7);
  Rng b(7);
  return a.next() == b.next();
}());

TEST(Rng, IsPinned) {
  Rng rng(1, 2);
  const std::array<std::uint64_t, 3> numbers = {rng.next(), rng.next(), rng.next()};
  EXPECT_EQ(numbers, (std::array<std::uint64_t, 3>{15234751897250297732ULL, 14956336671121928606ULL,
                                                   14373063538144833203ULL}));
}

TEST(Rng, ACopyGoesOnAlike) {
  Rng rng(42);
  rng.next();
  Rng copy = rng;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rng.next(), copy.next());
}

TEST(Rng, StreamsAndSeedsDiffer) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (std::uint64_t stream = 0; stream < 50; ++stream) firsts.insert(Rng(seed, stream).next());
  }
  EXPECT_EQ(firsts.size(), 2500U);
}

TEST(Between, StaysInRangeAndReachesItsEnds) {
  Rng rng(3);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(rng.between(-2, 2));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(rng.between(5, 5), 5);
  const auto low = std::numeric_limits<std::int64_t>::min();
  const auto high = std::numeric_limits<std::int64_t>::max();
  EXPECT_NE(rng.between(low, high), rng.between(low, high));
  EXPECT_LE(rng.between(low, low + 1), low + 1);
}

TEST(Between, IsRoughlyUniform) {
  Rng rng(9);
  std::array<int, 10> counts{};
  for (int i = 0; i < 100'000; ++i) ++counts[static_cast<std::size_t>(rng.between(0, 9))];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);  // five sigma
}

TEST(OneIn, HappensAboutThatOften) {
  Rng rng(11);
  int hits = 0;
  for (int i = 0; i < 100'000; ++i) hits += rng.one_in(20) ? 1 : 0;
  EXPECT_NEAR(hits, 5000, 350);
  EXPECT_TRUE(rng.one_in(1));
}

TEST(Between, RefusesAnEmptyRange) {
  Rng rng(1);
  EXPECT_DEATH((void)rng.between(2, 1), "broken invariant: low <= high");
}

}  // namespace
}  // namespace berth
