// Goal: jobs beside each other run as fast as jobs whose kernels share a GPU equally.
// Method: cases worked out by hand; the formula against such jobs played out step by step, with
// steps of different lengths, as the formula asks.
#include "sim/share/duty.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace berth::sim {
namespace {

std::vector<std::int64_t> in_ppm(const std::vector<double>& duties) {
  std::vector<std::int64_t> ppm;
  for (const double duty : duties) ppm.push_back(static_cast<std::int64_t>(duty * 1e6 + 0.5));
  return ppm;
}

double rate_of(std::size_t job, std::vector<double> duties, double interference = 0) {
  const double own = duties[job];
  duties.erase(duties.begin() + static_cast<std::ptrdiff_t>(job));
  return static_cast<double>(
             rate_beside(in_ppm({own})[0], in_ppm(duties), in_ppm({interference})[0]).ppm()) /
         1e6;
}

/// A job of which each step is a kernel and then work on the host.
struct Player {
  double duty = 0;
  double step = 1;
  double kernel = 0;  ///< Left of the step, alone;
  double host = 0;    ///< likewise, after it.
  double done = 0;    ///< Seconds of its work.
};

/// Plays `time` seconds; the speed of each. Kernels that are there together share the GPU.
std::vector<double> played(std::vector<Player> players, double time, double interference) {
  for (double left = time; left > 0;) {
    double kernels = 0;
    for (Player& player : players) {
      if (player.kernel <= 0 && player.host <= 0) {
        player.kernel = player.step * player.duty;
        player.host = player.step - player.kernel;
      }
      kernels += player.kernel > 0 ? 1 : 0;
    }
    const double share = kernels > 0 ? 1 / kernels / (1 + (kernels - 1) * interference) : 1;
    double next = left;
    for (const Player& player : players)
      next = std::min(next, player.kernel > 0 ? player.kernel / share : player.host);
    for (Player& player : players) {
      double& part = player.kernel > 0 ? player.kernel : player.host;
      const double worked = player.kernel > 0 ? next * share : next;
      player.done += std::min(worked, part);
      part = part - worked < 1e-12 ? 0 : part - worked;
    }
    left -= next;
  }
  std::vector<double> speeds;
  for (const Player& player : players) speeds.push_back(player.done / time);
  return speeds;
}

/// Steps whose lengths have no common measure, so that they meet in every way.
std::vector<double> played_long(const std::vector<double>& duties, double interference = 0) {
  constexpr double kSteps[] = {0.02, 0.02 * 1.6180339887, 0.02 * 2.2360679775, 0.02 * 0.7320508076};
  std::vector<Player> players;
  for (std::size_t i = 0; i < duties.size(); ++i)
    players.push_back({.duty = duties[i], .step = kSteps[i]});
  return played(std::move(players), 2000, interference);
}

TEST(Duty, AJobAloneRunsAtFullSpeedWhateverItsDuty) {
  for (const double duty : {0.0, 0.3, 1.0}) EXPECT_EQ(rate_of(0, {duty}), 1);
}

TEST(Duty, JobsThatAreAlwaysThereShareTheGpu) {
  EXPECT_EQ(rate_of(0, {1, 1}), 0.5);
  EXPECT_EQ(rate_of(3, {1, 1, 1, 1}), 0.25);
  EXPECT_DOUBLE_EQ(rate_of(0, {1, 1}, 0.25), 0.4);
}

TEST(Duty, OneThatIsAlwaysThereDoublesTheOthersKernels) {
  // Of a second of the other, the kernel of d seconds takes 2 d: 1 / (1 + d), for both.
  for (const double duty : {0.13, 0.44, 0.6, 0.94}) {
    EXPECT_NEAR(rate_of(0, {duty, 1}), 1 / (1 + duty), 1e-6);
    EXPECT_NEAR(rate_of(1, {duty, 1}), 1 / (1 + duty), 1e-6);
  }
}

TEST(Duty, OneThatIsNeverThereSlowsNobody) {
  EXPECT_EQ(rate_of(0, {0.7, 0}), 1);
  EXPECT_EQ(rate_of(1, {0.7, 0}), 1);
  EXPECT_EQ(rate_of(0, {0.7, 0.4, 0}), rate_of(0, {0.7, 0.4}));
}

TEST(Duty, IsTheSpeedOfJobsPlayedStepByStep) {
  const std::vector<std::vector<double>> mixes = {{0.5, 0.5},
                                                  {0.6, 0.44},
                                                  {0.6, 0.13},
                                                  {0.94, 0.94},
                                                  {0.44, 0.13},
                                                  {0.6, 0.44, 0.13},
                                                  {0.44, 0.44, 0.44},
                                                  {0.94, 0.6, 0.13},
                                                  {0.6, 0.6, 0.44, 0.13},
                                                  {0.13, 0.13, 0.13, 0.13},
                                                  {0.94, 0.94, 0.94, 0.94}};
  for (const double interference : {0.0, 0.2}) {
    for (const std::vector<double>& duties : mixes) {
      const std::vector<double> speeds = played_long(duties, interference);
      for (std::size_t i = 0; i < duties.size(); ++i) {
        const double error = rate_of(i, duties, interference) / speeds[i] - 1;
        EXPECT_NEAR(error, 0, 0.001) << "job " << i << " of " << testing::PrintToString(duties)
                                     << ", interference " << interference;
      }
    }
  }
}

TEST(Duty, StepsOfOneLengthAreWithin2PercentOnAverageOverTheWaysTheyMeet) {
  constexpr double kStep = 0.02;
  constexpr int kWays = 20;
  const std::vector<std::vector<double>> mixes = {
      {0.5, 0.5}, {0.6, 0.44}, {0.6, 0.13}, {0.44, 0.13}, {0.6, 0.44, 0.13}, {0.44, 0.44, 0.44}};
  for (const std::vector<double>& duties : mixes) {
    std::vector<double> mean(duties.size(), 0);
    for (int way = 0; way < kWays * kWays; ++way) {
      const double late[] = {0, kStep * (way % kWays) / kWays, kStep * (way / kWays) / kWays};
      std::vector<Player> players;
      for (std::size_t i = 0; i < duties.size(); ++i)
        players.push_back({.duty = duties[i], .step = kStep, .host = late[i]});
      const std::vector<double> speeds = played(std::move(players), 10, 0);
      for (std::size_t i = 0; i < duties.size(); ++i) mean[i] += speeds[i] / (kWays * kWays);
    }
    for (std::size_t i = 0; i < duties.size(); ++i) {
      EXPECT_NEAR(rate_of(i, duties) / mean[i], 1, 0.02)
          << "job " << i << " of " << testing::PrintToString(duties);
    }
  }
}

TEST(Duty, KernelsCostWhatOthersSlowThem) {
  EXPECT_EQ(kernel_cost_beside({}, 200'000), 1'000'000);
  EXPECT_EQ(kernel_cost_beside(in_ppm({1, 1}), 0), 1'000'000);
  EXPECT_EQ(kernel_cost_beside(in_ppm({1}), 200'000), 1'200'000);
  EXPECT_EQ(kernel_cost_beside(in_ppm({1, 1}), 200'000), 1'400'000);
  EXPECT_EQ(kernel_cost_beside(in_ppm({0.5}), 200'000), 1'100'000);
}

TEST(Duty, WhatJobsMakeUpForIsTheTimeInWhichTheGpuHasAKernel) {
  // That is 1 - P(K = 0), and the weights of K are w(k) times those of independent jobs.
  const std::vector<double> duties = {0.5, 0.5};
  const double has_none = 0.25 / (0.25 + 0.5 + 0.25 * 2 * 1.2);
  double busy = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    busy += duties[i] * rate_of(i, duties, 0.2) *
            static_cast<double>(kernel_cost_beside(in_ppm({duties[1 - i]}), 200'000)) / 1e6;
  }
  EXPECT_NEAR(busy, 1 - has_none, 1e-5);
}

TEST(Duty, IsInBoundsForManyJobs) {
  const std::vector<double> full(1000, 1.0);
  EXPECT_NEAR(rate_of(0, full), 0.001, 1e-6);
  const std::vector<double> some(400, 0.5);
  EXPECT_NEAR(rate_of(0, some), 1 / (400 * 0.5), 5e-5);
  const std::vector<double> rare(300, 0.001);
  EXPECT_NEAR(rate_of(7, rare), 1, 0.01);
}

}  // namespace
}  // namespace berth::sim
