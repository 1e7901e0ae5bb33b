// Goal: how many neighbours a job hurts that takes more than it asked for, by the rate at which it
// takes it; that looking fast lowers that, and that the driver's limits, MPS and MIG let none be
// hurt. The tables of doc/memory-limits.md are made here.
//
// Method: seeded mixes (neighbours.hpp) on eight emulated GPUs, the same with and without fast
// looks, then with limits and with none. BERTH_MIXES sets the number of mixes without limits (of
// each rate where looks are compared), 16 if it is not set; the tables are printed.
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

/// Each rate in turn, on so many GPUs at once. Prints what came of it.
Harm play(Rig& rig, int mixes, const std::string& name, const Growth& sharing = {},
          int gpus = kGpus) {
  rig.start();
  Harm all;
  for (int round = 0; round * gpus < mixes; ++round) {
    Growth growth = sharing;
    growth.gib_per_second = kRates[static_cast<std::size_t>(round) % kRates.size()].gib_per_second;
    all += test::play_mixes(rig, gpus, growth, 1000 + static_cast<std::uint64_t>(round));
  }
  std::printf("%-12s %d of %d neighbours hurt by %d liars, of which %d were ended\n", name.c_str(),
              all.hurt, all.honest, all.liars, all.ended);
  std::fflush(stdout);
  return all;
}

constexpr int kMixes = 200;

/// Without any fast look, so that nothing but the driver keeps the liars to their memory.
TEST(Neighbours, NoneIsHurtWhereTheDriverLimits) {
  const test::Cgroup cgroup;
  if (::geteuid() != 0 || cgroup.path().empty()) GTEST_SKIP() << "no cgroup can be made here";
  Rig rig(test::options_for_mixes(
      kGpus, "probe_fast = \"1h\"\ncgroup = \"" + cgroup.path() + "\"\n", ",driver=615"));
  const Harm all = play(rig, kMixes, "driver");
  EXPECT_EQ(all.hurt, 0) << all.last_words;
}

/// The same with a server of MPS for each GPU.
TEST(Neighbours, NoneIsHurtWhereMpsLimits) {
  Rig rig(test::options_for_mixes(kGpus, "probe_fast = \"1h\"\n"));
  const Harm all = play(rig, kMixes, "mps", {.share = "mps"});
  EXPECT_EQ(all.hurt, 0) << all.last_words;
}

/// The same on GPUs that are split in three, so that each job has an instance of 20 GiB to itself.
TEST(Neighbours, NoneIsHurtOnMigInstances) {
  constexpr int kSplit = 4;  // with their instances as many as a machine may have
  Rig rig(test::options_for_mixes(kSplit, "probe_fast = \"1h\"\n",
                                  ",mig=h100:2g.20gb+2g.20gb+2g.20gb", 80));
  const Harm all = play(rig, kMixes, "mig", {.parts = 3}, kSplit);
  EXPECT_EQ(all.hurt, 0) << all.last_words;
}

/// The same where nothing keeps a liar to its memory: if nobody is hurt the mixes show nothing.
TEST(Neighbours, AreHurtWhereNothingLimits) {
  Rig rig(test::options_for_mixes(kGpus, "admission = \"declared\"\n"));
  const Harm all = play(rig, rounds() * kGpus, "none");
  EXPECT_GT(all.hurt * 4, all.honest);
  EXPECT_EQ(all.ended, 0) << "no liar is ended";
}

}  // namespace
}  // namespace berth
