// Goal: time sharing is work-conserving and fair, to the nanosecond.
// Method: hand-computed cases; and a random one against a slow simulation of ever shorter slices.
#include "emu/state/fluid.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace berth::emu {
namespace {

TEST(Fluid, IdleGpuKeepsItsVirtualTime) {
  const auto later = advance({}, {}, 1000);
  EXPECT_EQ(later.virtual_nanoseconds, 0U);
  EXPECT_EQ(later.real_nanoseconds, 1000U);
  EXPECT_EQ(later.busy_nanoseconds, 0U);
}

TEST(Fluid, LoneTenantRunsAtFullSpeedAndThenTheGpuIsIdle) {
  const std::vector<std::uint64_t> finishes{600};
  const auto later = advance({}, finishes, 1000);
  EXPECT_EQ(later.virtual_nanoseconds, 600U);
  EXPECT_EQ(later.busy_nanoseconds, 600U);
  EXPECT_EQ(later.real_nanoseconds, 1000U);
  EXPECT_EQ(real_time_of({}, finishes, 600), 600U);
}

TEST(Fluid, TwoTenantsShareUntilTheShorterEnds) {
  // 100 and 300: both at half speed until 200, then the longer alone for its other 200.
  const std::vector<std::uint64_t> finishes{300, 100};
  EXPECT_EQ(real_time_of({}, finishes, 100), 200U);
  EXPECT_EQ(real_time_of({}, finishes, 300), 400U);
  EXPECT_EQ(advance({}, finishes, 1000).busy_nanoseconds, 400U);
  EXPECT_EQ(advance({}, finishes, 100).virtual_nanoseconds, 50U);
}

TEST(Fluid, NothingIsLostToRounding) {
  const std::vector<std::uint64_t> finishes{1000, 1000, 1000};
  ClockReading reading;
  for (std::uint64_t now = 1; now <= 3000; ++now) reading = advance(reading, finishes, now);
  EXPECT_EQ(reading.virtual_nanoseconds, 1000U);
  EXPECT_EQ(reading.busy_nanoseconds, 3000U);
}

TEST(Fluid, ManySmallStepsEqualOneBigOne) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> finishes(1 + random() % 6);
    for (auto& finish : finishes) finish = random() % 100000;
    ClockReading small;
    const std::uint64_t end = random() % 700000;
    for (std::uint64_t now = 0; now < end; now += 1 + random() % 9000) {
      small = advance(small, finishes, now);
    }
    small = advance(small, finishes, end);
    const auto big = advance({}, finishes, end);
    EXPECT_EQ(small.virtual_nanoseconds, big.virtual_nanoseconds);
    EXPECT_EQ(small.busy_nanoseconds, big.busy_nanoseconds);
  }
}

TEST(Fluid, InterferenceSlowsKernelsThatShareAndNoneThatIsAlone) {
  // 100 and 300 at 25 %: each at 1 / (2 x 1.25) until 250, then the longer alone for its other 200.
  const std::vector<std::uint64_t> finishes{300, 100};
  EXPECT_EQ(real_time_of({}, finishes, 100, {25}), 250U);
  EXPECT_EQ(real_time_of({}, finishes, 300, {25}), 450U);
  EXPECT_EQ(advance({}, finishes, 1000, {25}).busy_nanoseconds, 450U);
  EXPECT_EQ(advance({}, finishes, 125, {25}).virtual_nanoseconds, 50U);
  // Three at 10 %: 1 / (3 x 1.2).
  EXPECT_EQ(real_time_of({}, std::vector<std::uint64_t>{1000, 1000, 1000}, 1000, {10}), 3600U);
  EXPECT_EQ(real_time_of({}, std::vector<std::uint64_t>{70}, 70, {500}), 70U);
}

TEST(Fluid, AnotherSpeedIsOfAllThatRuns) {
  const std::vector<std::uint64_t> finishes{300, 100};
  EXPECT_EQ(real_time_of({}, finishes, 300, {.speed_percent = 25}), 1600U);
  EXPECT_EQ(real_time_of({}, finishes, 300, {.speed_percent = 200}), 200U);
  EXPECT_EQ(real_time_of({}, finishes, 100, {.interference_percent = 25, .speed_percent = 50}),
            500U);
  EXPECT_EQ(advance({}, finishes, 400, {.speed_percent = 25}).virtual_nanoseconds, 50U);
}

TEST(Fluid, WithInterferenceACallLosesANanosecondAtMost) {
  const std::vector<std::uint64_t> finishes{100'000, 70'000, 20'000};
  ClockReading small;
  std::uint64_t calls = 0;
  for (std::uint64_t now = 0; now < 300'000; now += 700, ++calls) {
    small = advance(small, finishes, now, {7});
    EXPECT_LE(small.real_nanoseconds, std::max<std::uint64_t>(now, 1));
  }
  const auto big = advance({}, finishes, 299'600, {7});
  EXPECT_LE(small.virtual_nanoseconds, big.virtual_nanoseconds);
  EXPECT_GE(small.virtual_nanoseconds + calls, big.virtual_nanoseconds);
}

/// Serves one nanosecond at a time, in turn.
std::uint64_t round_robin_end(std::vector<std::uint64_t> work, std::size_t of) {
  for (std::uint64_t now = 0;;) {
    for (std::size_t tenant = 0; tenant < work.size(); ++tenant) {
      if (work[tenant] == 0) continue;
      ++now;
      if (--work[tenant] == 0 && tenant == of) return now;
    }
  }
}

TEST(Fluid, IsTheLimitOfRoundRobinSlices) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::uint64_t> work(1 + random() % 5);
    for (auto& amount : work) amount = 1 + random() % 2000;
    for (std::size_t tenant = 0; tenant < work.size(); ++tenant) {
      const auto fluid = real_time_of({}, work, work[tenant]);
      const auto sliced = round_robin_end(work, tenant);
      EXPECT_LE(sliced, fluid);
      EXPECT_GE(sliced + work.size(), fluid);
    }
  }
}

}  // namespace
}  // namespace berth::emu
