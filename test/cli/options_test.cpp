// Goal: whatever is wrong with an option of `sim` and `compare` is refused with exit code 2 and one
// line that names the option and its value; what a file or the system says is 125.
// Method: the real program on a small trace, option by option.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.hpp"
#include "support/process.hpp"

namespace berth {
namespace {

using test::kBadUsage;
using test::kFailed;
using test::Ran;
using test::ScratchFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr auto kOfOptions =
    "job,user,submit_seconds,duration_seconds,gpus\n"
    "a,x,0,100,1\n"
    "b,y,10,50,2\n";

/// Every option that holds a number, be it beside words.
constexpr const char* kNumbers[] = {"--load",
                                    "--seed",
                                    "--predictions",
                                    "--retries",
                                    "--limits",
                                    "--seeds",
                                    "--measure",
                                    "--price",
                                    "--power",
                                    "--share",
                                    "--spread-penalty",
                                    "--utilisation",
                                    "--memory-error",
                                    "--start-latency",
                                    "--restart-cost",
                                    "--stop-latency",
                                    "--checkpoint-every",
                                    "--suspend-fails",
                                    "--host-memory",
                                    "--suspend-rate",
                                    "--memory-ramp",
                                    "--progress-every",
                                    "--foreign",
                                    "--faults"};

class Options : public testing::Test {
 protected:
  Ran sim(const std::string& word) {
    return test::run_program("berth", {"sim", "--trace", trace_, "--cluster", "1x4", word});
  }
  Ran compare(const std::string& word) {
    return test::run_program(
        "berth", {"compare", "--trace", trace_, "--cluster", "1x4", "--policies", "fifo", word});
  }
  static void expect_refused(const Ran& ran, const std::string& option) {
    EXPECT_EQ(ran.exit_code, kBadUsage) << option << ": " << ran.err;
    EXPECT_THAT(ran.err, AllOf(StartsWith("berth: "), HasSubstr(option)));
    EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << "one line: " << ran.err;
    EXPECT_THAT(ran.out, IsEmpty());
  }

  ScratchFolder scratch_;
  std::string trace_ = scratch_.write("t.csv", kOfOptions);
};

TEST_F(Options, NumbersOutOfTheirRangeAreRefused) {
  for (const std::string option : kNumbers) {
    for (const char* const value : {"nan", "-1", "1e999"}) {
      expect_refused(sim(option + "=" + value), option);
    }
    expect_refused(compare(option + "=inf"), option);
  }
  for (const auto& [option, value] :
       std::vector<std::pair<const char*, const char*>>{{"--load", "0"},
                                                        {"--load", "0.0009"},
                                                        {"--load", "1001"},
                                                        {"--load", "0x10"},
                                                        {"--seed", "1.5"},
                                                        {"--seed", "18446744073709551616"},
                                                        {"--seeds", "0"},
                                                        {"--seeds", "1001"},
                                                        {"--seeds", "1,1"},
                                                        {"--seeds", "1,"},
                                                        {"--seeds", "1,-2"},
                                                        {"--retries", "101"},
                                                        {"--predictions", "1000001"},
                                                        {"--limits", "0"},
                                                        {"--limits", "1001"},
                                                        {"--measure", "8d:1d"},
                                                        {"--measure", "1d"},
                                                        {"--measure", "1:30:00"},
                                                        {"--measure", "-1d:2d"},
                                                        {"--measure", "20s:30s"},
                                                        {"--price", "-2"},
                                                        {"--price", "gpu=nan"},
                                                        {"--power", "300:60"},
                                                        {"--power", "60:inf"},
                                                        {"--power", "k80=60:300"},
                                                        {"--suspend-fails", "101%"},
                                                        {"--host-memory", "0"},
                                                        {"--suspend-rate", "2G"},
                                                        {"--suspend-rate", "2G:0"},
                                                        {"--memory-error", "+--5%"},
                                                        {"--memory-error", "nan%"},
                                                        {"--spread-penalty", "-5%"},
                                                        {"--weights", "x=nan"},
                                                        {"--weights", "x=-1"},
                                                        {"--weights", "x=0"}}) {
    expect_refused(sim(std::string(option) + "=" + value), option);
  }
}

TEST_F(Options, CoresAreANumber) {
  for (const char* cores : {"-1", "nan", "4097", "1.5"}) {
    const Ran ran = compare("--cores=" + std::string(cores));
    EXPECT_EQ(ran.exit_code, kBadUsage) << cores;
    EXPECT_THAT(ran.err, HasSubstr("--cores: '" + std::string(cores) + "' is not a whole number"));
  }
}

TEST_F(Options, WordsThatAreNoneAreRefused) {
  for (const std::string option : {"--admission", "--estimates", "--share", "--programs", "--by",
                                   "--suspend-back", "--suspendable"}) {
    expect_refused(sim(option + "=luck"), option);
    expect_refused(compare(option + "=luck"), option);
  }
  for (const char* bounds : {"luck", "3", "-1,1h", "3,luck", "3,1h,2"}) {
    expect_refused(sim("--preemption-bounds=" + std::string(bounds)), "--preemption-bounds");
  }
  for (const char* word : {"--place=luck", "--format=luck", "--vram-model=uniform:nan"}) {
    EXPECT_EQ(sim(word).exit_code, kBadUsage) << word;
    EXPECT_EQ(compare(word).exit_code, kBadUsage) << word;
  }
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"sim", "--policy", "luck"},
                                             {"sim", "--policy", "gittins"},
                                             {"sim", "--policy", "fifo@luck"},
                                             {"sim", "--policy", "carma@fgd"},
                                             {"sim", "--policy", "carma", "--place", "fgd"},
                                             {"compare", "--policies", "fifo,luck"},
                                             {"compare", "--policies", "fifo,tiresias/dlas@yarn"},
                                             {"compare"}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--trace", trace_, "--cluster", "1x4"});
    const Ran ran = test::run_program("berth", all);
    EXPECT_EQ(ran.exit_code, kBadUsage) << ran.err;
    EXPECT_THAT(ran.out, IsEmpty());
  }
  EXPECT_EQ(test::run_program("berth", {"sim", "--trace", trace_, "--cluster", "4x"}).exit_code,
            kBadUsage);
  EXPECT_EQ(test::run_program("berth", {"policies", "luck"}).exit_code, kBadUsage);
}

TEST_F(Options, OfSuspensionSayNothingWhereNoJobIsSuspended) {
  const Ran ran =
      test::run_program("berth", {"sim", "--trace", trace_, "--cluster", "1x4",
                                  "--checkpoint-every", "never", "--suspend-back", "own"});
  expect_refused(ran, "--checkpoint-every");
  EXPECT_THAT(ran.err, HasSubstr("--suspend-back"));
}

TEST_F(Options, WhatAFileSaysIsNoBadUsage) {
  const std::string bad = scratch_.write("bad.csv", "a,b\n1,x\n");
  for (const auto& [option, file] :
       std::vector<std::pair<std::string, std::string>>{{"--service", scratch_ / "none"},
                                                        {"--weights", scratch_ / "none"},
                                                        {"--speeds", scratch_ / "none"},
                                                        {"--vram-model", scratch_ / "none"},
                                                        {"--limits", bad},
                                                        {"--estimates", bad},
                                                        {"--weights", bad}}) {
    const Ran ran = sim(option + "=" + file);
    EXPECT_EQ(ran.exit_code, kFailed) << option << ": " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(file));
  }
}

}  // namespace
}  // namespace berth
