// Goal: how many neighbours a job hurts that takes more than it asked for, by the rate at which it
// takes it; that looking fast lowers that, and that the driver's limits and MPS let none be hurt.
// The tables of doc/memory-limits.md are made here.
//
// Method: seeded mixes (neighbours.hpp) on eight emulated GPUs, the same with and without fast
// looks, then with limits. BERTH_MIXES sets the number of mixes of each rate without limits, 16 if
// it is not set; the tables are printed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "daemon/cgroup.hpp"
#include "daemon/neighbours.hpp"

namespace berth {
namespace {

using test::Growth;
using test::Harm;
using test::Rig;

constexpr int kGpus = 8;
constexpr std::size_t kRateCount = 6;
const std::array<Growth, kRateCount> kRates{{{0}, {16}, {8}, {4}, {2}, {1}}};

int rounds() {
  const char* const mixes = std::getenv("BERTH_MIXES");
  const int wanted = mixes == nullptr ? 2 * kGpus : std::atoi(mixes);
  return std::max(1, (wanted + kGpus - 1) / kGpus);
}

/// By rate.
std::array<Harm, kRateCount> play_all(const std::string& name, const std::string& config) {
  Rig rig(test::options_for_mixes(kGpus, config));
  rig.start();
  std::array<Harm, kRateCount> all;
  for (std::size_t r = 0; r < kRates.size(); ++r) {
    for (int round = 0; round < rounds(); ++round) {
      const auto seed = static_cast<std::uint64_t>(round) * kRates.size() + r + 1;
      all[r] += test::play_mixes(rig, kGpus, kRates[r], seed);
    }
    std::printf("%-12s %-12s %3d of %3d neighbours hurt, %3d of %3d liars ended\n", name.c_str(),
                to_text(kRates[r]).c_str(), all[r].hurt, all[r].honest, all[r].ended, all[r].liars);
    std::fflush(stdout);
  }
  return all;
}

TEST(Neighbours, AreHurtLessOftenWhereRampsAreLookedAtOften) {
  const auto seldom = play_all("every second", "probe_fast = \"1h\"\n");
  const auto often = play_all("fast", "");
  Harm before;
  Harm after;
  for (std::size_t r = 0; r < kRates.size(); ++r) {
    before += seldom[r];
    after += often[r];
  }
  EXPECT_LT(after.hurt * 2, before.hurt) << "of " << before.honest;
}

/// Without any fast look, so that nothing but the driver keeps the liars to their memory.
TEST(Neighbours, NoneIsHurtWhereTheDriverLimits) {
  const test::Cgroup cgroup;
  if (::geteuid() != 0 || cgroup.path().empty()) GTEST_SKIP() << "no cgroup can be made here";
  constexpr int kMixes = 200;
  Rig rig(test::options_for_mixes(
      kGpus, "probe_fast = \"1h\"\ncgroup = \"" + cgroup.path() + "\"\n", ",driver=615"));
  rig.start();
  Harm all;
  for (int round = 0; round * kGpus < kMixes; ++round) {
    const Growth growth = kRates[static_cast<std::size_t>(round) % kRates.size()];
    all += test::play_mixes(rig, kGpus, growth, 1000 + static_cast<std::uint64_t>(round));
  }
  std::printf("driver       %d of %d neighbours hurt by %d liars\n", all.hurt, all.honest,
              all.liars);
  EXPECT_EQ(all.hurt, 0) << all.last_words;
}

/// The same with a server of MPS for each GPU.
TEST(Neighbours, NoneIsHurtWhereMpsLimits) {
  constexpr int kMixes = 200;
  Rig rig(test::options_for_mixes(kGpus, "probe_fast = \"1h\"\n"));
  rig.start();
  Harm all;
  for (int round = 0; round * kGpus < kMixes; ++round) {
    Growth growth = kRates[static_cast<std::size_t>(round) % kRates.size()];
    growth.share = "mps";
    all += test::play_mixes(rig, kGpus, growth, 1000 + static_cast<std::uint64_t>(round));
  }
  std::printf("mps          %d of %d neighbours hurt by %d liars\n", all.hurt, all.honest,
              all.liars);
  EXPECT_EQ(all.hurt, 0) << all.last_words;
}

}  // namespace
}  // namespace berth
