// Goal: an equal split gives each user what water filling says, whatever came before.
// Method: cases worked out by hand; random changes of demand, each filled again from nothing.
#include "report/equal_split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/rng.hpp"

namespace berth::sim {
namespace {

Instant at(std::int64_t second) { return kStart + seconds(second); }

TEST(EqualSplitTest, DemandsThatFitAreMet) {
  EqualSplit split(8, 2, at(0));
  split.change(0, 5, at(0));
  split.change(1, 3, at(10));
  EXPECT_DOUBLE_EQ(split.share(0, at(20)), 100);
  EXPECT_DOUBLE_EQ(split.share(1, at(20)), 30);
}

TEST(EqualSplitTest, WhatSmallDemandsLeaveIsSharedByTheOthers) {
  EqualSplit split(9, 3, at(0));
  split.change(0, 1, at(0));
  split.change(1, 10, at(0));
  split.change(2, 20, at(0));
  split.change(1, -10, at(10));  // and its part is the third's
  EXPECT_DOUBLE_EQ(split.share(0, at(20)), 20);
  EXPECT_DOUBLE_EQ(split.share(1, at(20)), 40);
  EXPECT_DOUBLE_EQ(split.share(2, at(20)), 40 + 80);
}

TEST(EqualSplitTest, AUserWithoutDemandGetsNothingWhileOthersAreCut) {
  EqualSplit split(4, 2, at(0));
  split.change(0, 10, at(0));
  split.change(1, 10, at(0));
  split.change(0, -10, at(5));
  split.change(0, 1, at(15));
  EXPECT_DOUBLE_EQ(split.share(0, at(20)), 5 * 2 + 5 * 1);
  EXPECT_DOUBLE_EQ(split.share(1, at(20)), 5 * 2 + 10 * 4 + 5 * 3);
}

/// Each one's share of what there is, one after the other by demand.
std::vector<double> filled(double capacity, const std::vector<std::int64_t>& demands) {
  std::vector<std::size_t> order(demands.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t user) { return demands[user]; });
  std::vector<double> shares(demands.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double part = capacity / static_cast<double>(order.size() - i);
    shares[order[i]] = std::min(part, static_cast<double>(demands[order[i]]));
    capacity -= shares[order[i]];
  }
  return shares;
}

TEST(EqualSplitTest, IsWhatFillingAgainFromNothingGives) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Rng rng(seed);
    const auto users = static_cast<std::size_t>(rng.between(1, 9));
    const std::int64_t capacity = rng.between(1, 40);
    EqualSplit split(capacity, users, at(0));
    std::vector<std::int64_t> demands(users);
    std::vector<double> expected(users);
    std::int64_t now = 0;
    for (int step = 0; step < 200; ++step) {
      const auto user =
          static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(users) - 1));
      const std::int64_t wanted = rng.one_in(3) ? 0 : rng.between(1, 12);
      split.change(user, wanted - demands[user], at(now));
      demands[user] = wanted;
      const std::int64_t time = rng.between(0, 3);
      const std::vector<double> shares = filled(static_cast<double>(capacity), demands);
      for (std::size_t i = 0; i < users; ++i) expected[i] += shares[i] * static_cast<double>(time);
      now += time;
    }
    for (std::size_t i = 0; i < users; ++i) {
      ASSERT_NEAR(split.share(i, at(now)), expected[i], 1e-6) << "seed " << seed << ", user " << i;
    }
  }
}

}  // namespace
}  // namespace berth::sim
