// Goal: however often and whenever berthd is killed, each job runs exactly once, its end is known
// and its log is whole; and the journal decides again alike. Method: 50 jobs; SIGKILL at 100
// moments drawn from a seed, each followed by a restart; and again with the next seed, until there
// were BERTH_KILLS (100) kills, the first seed being BERTH_KILLS_SEED (1). Jobs write to a file of
// their own what they did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <sstream>
#include <thread>

#include "core/base/rng.hpp"
#include "daemon/rig.hpp"
#include "daemon/suspend_rig.hpp"
#include "support/environment.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::Json;
using test::Rig;

constexpr int kJobs = 50;
constexpr int kKills = 100;  // per seed

/// Says what it does, in the log and in a file; exits 0 to 4.
std::string script(int number) {
  const std::string name = std::to_string(number);
  std::string text = "echo start " + name + " >> runs; ";
  for (int line = 0; line < 5; ++line)
    text += "echo line " + std::to_string(line) + "; sleep 0.1; ";
  return text + "echo end " + name + " >> runs; exit " + std::to_string(number % 5);
}

std::map<std::string, int> count_lines(const std::string& text) {
  std::map<std::string, int> counts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) ++counts[line];
  return counts;
}

void kill_again_and_again(Rig& rig, std::uint64_t seed, int kills) {
  Rng rng(seed, 0);
  for (int i = 0; i < kills; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(rng.between(0, 80'000)));
    rig.kill();
    rig.start();
  }
}

void lose_nothing_and_run_nothing_twice(std::uint64_t seed) {
  SCOPED_TRACE("BERTH_KILLS_SEED=" + std::to_string(seed));
  Rig rig;
  rig.start();
  std::map<int, int> numbers;
  for (int number = 0; number < kJobs; ++number) {
    numbers[rig.submit(script(number), {{"vram_bytes", std::int64_t{10} << 30}})] = number;
  }
  kill_again_and_again(rig, seed, kKills);
  for (const auto& [id, number] : numbers) {
    const Json job = rig.wait_end(id);
    EXPECT_EQ(job["state"], number % 5 == 0 ? "done" : "failed") << job;
    EXPECT_EQ(job["exit_code"], number % 5) << job;
    EXPECT_EQ(job["attempts"].size(), 1U) << job;
    EXPECT_EQ(rig.log(id), "line 0\nline 1\nline 2\nline 3\nline 4\n") << job;
  }
  auto runs = count_lines(test::read_file(rig.folder() / "runs"));
  for (int number = 0; number < kJobs; ++number) {
    EXPECT_EQ(runs["start " + std::to_string(number)], 1) << number;
    EXPECT_EQ(runs["end " + std::to_string(number)], 1) << number;
  }
  EXPECT_EQ(rig.stop(), 0);
  const auto verified = test::run_program("berth", {"sim", "--verify", rig.journal()});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
}

TEST(Kills, LoseNothingAndRunNothingTwice) {
  const std::uint64_t first = test::number_of("BERTH_KILLS_SEED", 1);
  const std::uint64_t seeds = test::number_of("BERTH_KILLS", kKills) / kKills;
  for (std::uint64_t seed = first; seed < first + seeds && !HasFailure(); ++seed)
    lose_nothing_and_run_nothing_twice(seed);
}

/// A day of jobs that take turns on one GPU: each is suspended and goes on, and so does berthd.
TEST(Kills, LoseNoStepOfJobsThatTakeTurns) {
  constexpr int kSteps = 120;
  test::SuspendRig rig({.config = test::kRoom + "policy = \"turns:first_queue=1s:quantum=1s\"\n"});
  std::vector<int> ids;
  for (int i = 0; i < 8; ++i) {
    ids.push_back(rig.submit(
        test::load("--vram 20G --steps " + std::to_string(kSteps) + " --report 10 --step-ms 25"),
        test::vram(21)));
  }
  Rng rng(3, 0);
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(rng.between(0, 1000)));
    rig.kill();
    rig.start();
  }
  for (const int id : ids) rig.wait_end(id);
  std::size_t suspensions = 0;
  for (const int id : ids) {
    rig.expect_complete(id, kSteps);
    suspensions += rig.job(id)["attempts"].size() - 1;
  }
  EXPECT_GT(suspensions, 0U) << "one that a kill cuts short is not tried again for a minute";
}

/// Kills while jobs are being submitted: what was answered is there, what was not is there once or
/// not at all.
TEST(Kills, KeepEverySubmissionThatWasAnswered) {
  Rig rig;
  rig.start();
  Rng rng(2, 0);
  std::vector<int> answered;
  for (int round = 0; round < 20; ++round) {
    const auto most = static_cast<int>(rng.between(1, 5));
    for (int i = 0; i < most; ++i) answered.push_back(rig.submit("true", {{"held", true}}));
    rig.kill();
    rig.start();
  }
  for (std::size_t i = 0; i < answered.size(); ++i) {
    EXPECT_EQ(rig.job(answered[i])["state"], "held") << answered[i];
    EXPECT_EQ(answered[i], static_cast<int>(i) + 1);
  }
}

}  // namespace
}  // namespace berth
