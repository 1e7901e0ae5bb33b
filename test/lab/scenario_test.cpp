// Goal: `berth-eval scenario` runs one trace live, with real processes, and simulated, and says the
// figures of both.
// Method: the real program on three short jobs; assertions on counts, not on times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/process.hpp"

namespace berth::lab {
namespace {

using testing::HasSubstr;

constexpr auto kJobs =
    "job,user,submit_seconds,duration_seconds,gpus,vram_bytes,class,duty_milli,memory,retries\n"
    "a,ada,0,0.2,1,4294967296,short,500,0:0|0.1:4000,0\n"
    "b,ben,0,0.2,1,4294967296,short,500,0:4000,0\n"
    "c,ben,0.05,0.2,2,2147483648,short,500,0:30000,0\n";

class ScenarioRun : public testing::Test {
 protected:
  test::Ran scenario(std::vector<std::string> more) {
    more.insert(more.begin(), {"scenario", "--trace", trace_});
    return test::run_program("berth-eval", more);
  }
  test::ScratchFolder scratch_;
  std::string trace_ = scratch_.write("jobs.csv", kJobs);
};

TEST_F(ScenarioRun, RunsTheJobsBothWays) {
  const auto ran =
      scenario({"--cluster", "1x2", "--policy", "fifo-skip", "--interference", "20", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto figures = nlohmann::json::parse(ran.out, nullptr, false);
  for (const char* way : {"live", "simulated"}) {
    ASSERT_TRUE(figures.contains(way)) << ran.out;
    EXPECT_EQ(figures[way]["finished"], 2) << way;
    EXPECT_EQ(figures[way]["oom_by_overrun"], 1) << way << ": c takes more than there is";
    EXPECT_EQ(figures[way]["oom_by_admission"], 0) << way;
    EXPECT_GT(figures[way]["makespan_seconds"], 0.2) << way;
  }
}

TEST_F(ScenarioRun, JobsOutliveABerthdThatIsKilled) {
  trace_ = scratch_.write("long.csv",
                          "job,user,submit_seconds,duration_seconds,gpus,vram_bytes,duty_milli\n"
                          "a,ada,0,2,1,4294967296,500\n"
                          "b,ben,0,2,1,4294967296,500\n");
  const auto ran =
      scenario({"--cluster", "1x2", "--policy", "fifo-skip", "--kill-every", "0.5", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto live = nlohmann::json::parse(ran.out, nullptr, false)["live"];
  EXPECT_EQ(live["finished"], 2);
  EXPECT_EQ(live["began_again"], 0);
  EXPECT_GE(live["kills"], 1);
}

TEST_F(ScenarioRun, WhatIsNotRunLiveIsRefused) {
  EXPECT_THAT(scenario({"--cluster", "2x1"}).err, HasSubstr("the cluster has 2 nodes"));
  EXPECT_THAT(scenario({"--cluster", "1x1", "--admission", "hope"}).err,
              HasSubstr("--admission: 'hope' is unknown"));
  const auto ran = scenario({"--cluster", "1x1", "--interference", "1001"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--interference"));
}

}  // namespace
}  // namespace berth::lab
