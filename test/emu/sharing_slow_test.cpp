// Goal: tenants of one GPU slow each other as much as they must and no more.
// Method: rates berth-load measures, alone and together. Bounds are wide: the machine may be busy.
#include <gtest/gtest.h>

#include <regex>

#include "emu/support.hpp"

namespace berth::emu {
namespace {

double rate_of(const test::Ended& ended) {
  std::smatch match;
  EXPECT_TRUE(std::regex_search(ended.output, match, std::regex("s, ([0-9.]+) steps/s")))
      << ended.output;
  return match.empty() ? 0 : std::stod(match[1]);
}

std::vector<std::string> job(const std::string& duty) {
  return {EMU_LOAD, "--steps=100", "--step-ms=20", "--duty=" + duty};
}

/// Rates of jobs that run at the same time.
std::vector<double> rates(const test::Machine& machine, const std::vector<test::Variables>& more,
                          const std::string& duty) {
  std::vector<test::Process> processes;
  for (const auto& variables : more) processes.emplace_back(job(duty), joining(machine, variables));
  std::vector<double> rates;
  for (auto& process : processes) rates.push_back(rate_of(process.wait()));
  return rates;
}

TEST(Sharing, LoneJobRunsAtFullRate) {
  const test::Machine machine;
  const auto alone = rates(machine, {{}}, "1");
  EXPECT_LE(alone[0], 50.5);
  EXPECT_GE(alone[0], 40);
}

TEST(Sharing, TwoFullJobsRunAtHalfRate) {
  const test::Machine machine;
  const auto together = rates(machine, {{}, {}}, "1");
  for (const auto rate : together) {
    EXPECT_LE(rate, 29);
    EXPECT_GE(rate, 20);
  }
}

TEST(Sharing, JobsOnDifferentGpusDoNotMeet) {
  const test::Machine machine;
  const auto apart =
      rates(machine, {{{"CUDA_VISIBLE_DEVICES", "0"}}, {{"CUDA_VISIBLE_DEVICES", "1"}}}, "1");
  for (const auto rate : apart) EXPECT_GE(rate, 40);
}

TEST(Sharing, IdleTenantsCostNothing) {
  const test::Machine machine;
  std::vector<test::Process> idle;
  for (int tenant = 0; tenant < 10; ++tenant) {
    idle.emplace_back(
        std::vector<std::string>{EMU_LOAD, "--vram=10M", "--steps=0", "--step-ms=1000", "--duty=0"},
        joining(machine));
  }
  EXPECT_GE(rates(machine, {{}}, "1")[0], 40);
}

TEST(Sharing, FiftyJobsFillTheGpuOnTwoCores) {
  const test::Machine machine({.gpu_bytes = {8 * kGibibyte}, .context_bytes = 64 * kMebibyte});
  std::vector<test::Process> jobs;
  for (int count = 0; count < 50; ++count) {
    jobs.emplace_back(
        std::vector<std::string>{EMU_LOAD, "--vram=64M", "--steps=5", "--step-ms=10", "--duty=1"},
        joining(machine));
  }
  double sum = 0;
  for (auto& process : jobs) {
    const auto ended = process.wait();
    EXPECT_EQ(ended.code, 0) << ended.output;
    sum += rate_of(ended);
  }
  // A hundred steps a second is all the GPU has; the first processes share it with fewer at first.
  EXPECT_GE(sum, 80);
  EXPECT_LE(sum, 250);
}

}  // namespace
}  // namespace berth::emu
