// Goal: whatever is killed when, the card is never over-full and is empty at the end.
// Method: jobs with random memory behaviour and seeded random deaths, seen through the public
// report.
#include <gtest/gtest.h>

#include <csignal>
#include <random>
#include <thread>

#include "emu/support.hpp"

namespace berth::emu {
namespace {

std::vector<std::string> random_job(std::mt19937_64& random) {
  const auto megabytes = std::to_string(random() % 500) + "M";
  const auto spike =
      std::to_string(1 + random() % 300) + "M/" + std::to_string(5 + random() % 40) + "ms";
  return {EMU_LOAD,
          "--vram",
          megabytes,
          "--ramp",
          std::to_string(random() % 40) + "ms",
          "--spike",
          spike,
          "--steps",
          "0",
          "--step-ms",
          "2",
          "--gpus",
          std::to_string(1 + random() % 2)};
}

TEST(Swarm, KilledJobsLeaveNothing) {
  const std::uint64_t seed = 4711;
  const test::Machine machine;
  std::mt19937_64 random(seed);
  std::vector<test::Process> jobs;
  for (int job = 0; job < 8; ++job) jobs.emplace_back(random_job(random), joining(machine));
  for (int kill = 0; kill < 300; ++kill) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    auto& victim = jobs[random() % jobs.size()];
    victim.signal(random() % 4 == 0 ? SIGTERM : SIGKILL);
    victim = test::Process(random_job(random), joining(machine));
    for (std::size_t gpu = 0; gpu < 2; ++gpu) {
      const auto now = machine.gpu(gpu);
      ASSERT_LE(now.used_bytes, now.total_bytes - now.reserved_bytes) << "seed " << seed;
    }
  }
  jobs.clear();
  for (std::size_t gpu = 0; gpu < 2; ++gpu) {
    EXPECT_EQ(machine.gpu(gpu).used_bytes, 0U) << "seed " << seed;
    EXPECT_TRUE(machine.gpu(gpu).processes.empty());
  }
}

}  // namespace
}  // namespace berth::emu
