// Goal: what is added over a stretch of time is taken there and nowhere else, and a search finds
// the first stretch that is low for long enough.
// Method: a few stretches by hand; random ones against a plain array of seconds.
#include "policy/backfill/levels.hpp"

#include <gtest/gtest.h>

#include <array>

#include "core/base/rng.hpp"

namespace berth {
namespace {

Instant second(std::int64_t s) { return kStart + seconds(s); }

TEST(Levels, AStretchThatIsLowBeginsWhereAHigherOneEnds) {
  Levels levels;
  levels.add(second(0), second(10), GpuCount(4));
  levels.add(second(10), second(20), GpuCount(2));
  levels.add(second(25), second(30), GpuCount(4));
  EXPECT_EQ(levels.at(second(9)), GpuCount(4));
  EXPECT_EQ(levels.at(second(10)), GpuCount(2));
  EXPECT_EQ(levels.first_below(GpuCount(4), seconds(99), second(3)), second(3));
  EXPECT_EQ(levels.first_below(GpuCount(2), seconds(15), second(0)), second(10));
  EXPECT_EQ(levels.first_below(GpuCount(2), seconds(16), second(0)), second(30));
  EXPECT_EQ(levels.first_below(GpuCount(0), seconds(5), second(0)), second(20));
  EXPECT_EQ(levels.first_below(GpuCount(-1), seconds(1), second(0)), kNever) << "more than all";
  EXPECT_EQ(levels.first_below(GpuCount(9), seconds(1), kNever), kNever);
}

TEST(Levels, WhatIsTakenOffLeavesNothing) {
  Levels levels;
  levels.add(Instant::min(), second(10), GpuCount(4));
  levels.add(second(5), kNever, GpuCount(3));
  EXPECT_EQ(levels.first_below(GpuCount(2), seconds(1), second(0)), kNever) << "it never ends";
  levels.add(second(5), kNever, GpuCount(-3));
  levels.add(Instant::min(), second(10), GpuCount(-4));
  EXPECT_EQ(levels, Levels());
}

TEST(Levels, AsAnArrayOfSecondsSays) {
  constexpr std::int64_t kEnd = 60;
  Rng rng(5);
  for (int round = 0; round < 200; ++round) {
    Levels levels;
    std::array<std::int64_t, kEnd> plain{};
    for (int i = 0; i < 12; ++i) {
      const std::int64_t from = rng.between(0, kEnd - 1);
      const std::int64_t to = rng.between(from, kEnd);
      const std::int64_t gpus = rng.between(0, 3);
      levels.add(second(from), second(to), GpuCount(gpus));
      for (std::int64_t s = from; s < to; ++s) plain[static_cast<std::size_t>(s)] += gpus;
    }
    for (int i = 0; i < 12; ++i) {
      const std::int64_t most = rng.between(0, 12);
      const std::int64_t lasts = rng.between(1, 20);
      const std::int64_t from = rng.between(0, kEnd - 1);
      std::int64_t first = from;
      for (std::int64_t s = from; s < kEnd && s - first < lasts; ++s) {
        if (plain[static_cast<std::size_t>(s)] > most) first = s + 1;
      }
      EXPECT_EQ(levels.first_below(GpuCount(most), seconds(lasts), second(from)), second(first));
    }
  }
}

}  // namespace
}  // namespace berth
