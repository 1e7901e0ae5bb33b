// Goal: berth-load's flags are read as documented; bad ones are refused by flag, value and limit;
// the memory plan is what the flags say.
#include "emu/load/options.hpp"

#include <gtest/gtest.h>

#include "emu/load/plan.hpp"

namespace berth::emu {
namespace {

constexpr std::uint64_t kSecond = 1000000000;

std::string refusal(const std::vector<std::string_view>& words) {
  const auto options = parse_load_options(words);
  return options ? "accepted" : options.error();
}

TEST(LoadOptions, ReadsEveryFlag) {
  const auto options = parse_load_options(
      {"--vram",  "6G",       "--ramp",       "2s",      "--spike", "1G/5s",   "--grow", "100M/s",
       "--steps", "200",      "--step-ms=20", "--duty",  "0.25",    "--exit",  "3",      "--gpus",
       "2",       "--on-oom", "keep",         "--check", "yes",     "--times", "yes",    "--first",
       "1"});
  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(options->vram_bytes, 6 * kGibibyte);
  EXPECT_EQ(options->ramp_nanoseconds, 2 * kSecond);
  EXPECT_EQ(options->spike_bytes, kGibibyte);
  EXPECT_EQ(options->spike_nanoseconds, 5 * kSecond);
  EXPECT_EQ(options->grow_bytes_per_second, 100 * kMebibyte);
  EXPECT_EQ(options->steps, 200U);
  EXPECT_EQ(options->step_nanoseconds, 20000000U);
  EXPECT_EQ(options->duty, 0.25);
  EXPECT_EQ(options->exit_code, 3);
  EXPECT_EQ(options->gpus, 2);
  EXPECT_EQ(options->first, 1);
  EXPECT_TRUE(options->keeps);
  EXPECT_FALSE(parse_load_options({})->keeps);
  EXPECT_TRUE(options->checks);
  EXPECT_TRUE(options->tells_times);
  EXPECT_EQ(refusal({"--check", "1"}), "--check 1: must be yes or no");
  EXPECT_EQ(refusal({"--on-oom", "stay"}), "--on-oom stay: must be end or keep");
}

TEST(LoadOptions, ReadsACurve) {
  const auto options = parse_load_options({"--curve", "0:0|2.5:4000|9:1000"});
  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(options->curve,
            (std::vector<CurvePoint>{
                {0, 0}, {2500000000, 4000 * kMebibyte}, {9 * kSecond, 1000 * kMebibyte}}));
  EXPECT_NE(refusal({"--curve", "5"}).find("--curve 5: must be points SECONDS:MIB"),
            std::string::npos);
  EXPECT_NE(refusal({"--curve", "1:x"}).find("--curve x: must be a whole number from 0 to"),
            std::string::npos);
  EXPECT_EQ(refusal({"--curve", "1:5|1:6"}), "--curve 1:6: must be later than the point before");
}

TEST(LoadOptions, RefusalsNameFlagValueAndLimit) {
  EXPECT_EQ(refusal({"--duty", "1.5"}), "--duty 1.5: must be from 0 to 1");
  EXPECT_EQ(refusal({"--duty", "nan"}), "--duty nan: must be from 0 to 1");
  EXPECT_EQ(refusal({"--exit", "256"}), "--exit 256: must be a whole number from 0 to 255");
  EXPECT_EQ(refusal({"--vram", "2048T"}), "--vram 2048T: the largest is 1024T");
  EXPECT_NE(refusal({"--vram", "six"}).find("--vram six"), std::string::npos);
  EXPECT_NE(refusal({"--spike", "1G"}).find("1G/5s"), std::string::npos);
  EXPECT_NE(refusal({"--spike", "1G/0s"}).find("above 0"), std::string::npos);
  EXPECT_NE(refusal({"--grow", "100M"}).find("100M/s"), std::string::npos);
  EXPECT_NE(refusal({"--ramp", "2d"}).find("--ramp 2d"), std::string::npos);
  EXPECT_EQ(refusal({"--steps"}), "--steps needs a value; see --help");
  EXPECT_EQ(refusal({"--colour", "red"}), "unknown flag --colour; see --help");
  EXPECT_EQ(refusal({"train.py"}), "unexpected argument train.py; see --help");
}

TEST(LoadPlan, RampsThenGrows) {
  const LoadOptions options{
      .vram_bytes = 1000, .ramp_nanoseconds = 2 * kSecond, .grow_bytes_per_second = 10};
  EXPECT_EQ(steady_bytes(options, 0), 0U);
  EXPECT_EQ(steady_bytes(options, kSecond), 510U);
  EXPECT_EQ(steady_bytes(options, 4 * kSecond), 1040U);
  EXPECT_EQ(steady_bytes({.vram_bytes = 7}, 0), 7U);
}

TEST(LoadPlan, ACurveIsStraightBetweenPointsAndFlatBeyondThem) {
  const LoadOptions options{.curve = {{kSecond, 100}, {3 * kSecond, 500}, {4 * kSecond, 200}}};
  EXPECT_EQ(curve_bytes(options, 0), 100U);
  EXPECT_EQ(curve_bytes(options, 2 * kSecond), 300U);
  EXPECT_EQ(curve_bytes(options, 3 * kSecond), 500U);
  EXPECT_EQ(curve_bytes(options, 3 * kSecond + kSecond / 2), 350U);
  EXPECT_EQ(curve_bytes(options, 9 * kSecond), 200U);
  EXPECT_EQ(curve_bytes({}, kSecond), 0U);
}

TEST(LoadPlan, SpikesInTheLastFifth) {
  const LoadOptions options{.spike_bytes = 1, .spike_nanoseconds = 5 * kSecond};
  EXPECT_FALSE(is_spiking(options, 0));
  EXPECT_FALSE(is_spiking(options, 4 * kSecond - 1));
  EXPECT_TRUE(is_spiking(options, 4 * kSecond));
  EXPECT_FALSE(is_spiking(options, 5 * kSecond));
  EXPECT_TRUE(is_spiking(options, 9 * kSecond));
  EXPECT_FALSE(is_spiking({}, 9 * kSecond));
}

}  // namespace
}  // namespace berth::emu
