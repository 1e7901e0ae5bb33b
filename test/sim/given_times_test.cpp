// Goal: limits and estimates that are given beside the trace reach the jobs they name.
// Method: small files and traces.
#include "sim/given_times.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::sim {
namespace {

using testing::HasSubstr;

trace::Trace two_jobs() {
  trace::Trace trace;
  trace.jobs = {{.name = "a", .submit = kStart, .duration = seconds(100), .spec = {}},
                {.name = "b", .submit = kStart, .duration = seconds(10), .spec = {}}};
  trace.jobs[1].spec.time_limit = seconds(99);
  trace.jobs[1].spec.estimate = seconds(98);
  return trace;
}

TEST(GivenTimes, AreReadWithAHeaderAndWithout) {
  for (const char* text : {"job,limit\na,60\nb,1.5\n", "a,60\nb,1.5\n"}) {
    const auto times = read_job_times(text, "f.csv");
    ASSERT_TRUE(times) << times.error().message;
    EXPECT_EQ(times->at("a"), seconds(60));
    EXPECT_EQ(times->at("b"), Duration(1'500'000));
  }
}

TEST(GivenTimes, RefuseWhatIsNoTime) {
  for (const char* time : {"nan", "inf", "-1", "", "0", "1e10", "soon"}) {
    const auto times = read_job_times("a,5\nb," + std::string(time) + "\n", "f.csv");
    ASSERT_FALSE(times) << time;
    EXPECT_THAT(times.error().message, HasSubstr("f.csv:2: column 'seconds': '")) << time;
  }
  EXPECT_THAT(read_job_times("a,5\na,6\n", "f.csv").error().message,
              HasSubstr("f.csv:2: column 'job': 'a', expected every job once"));
}

TEST(GivenTimes, LimitsLeaveOthersTheirOwnAndEstimatesDoNot) {
  trace::Trace trace = two_jobs();
  const Unmatched unmatched = give_limits(trace, {{"a", seconds(5)}, {"z", seconds(1)}});
  EXPECT_EQ(unmatched.names, 1U);
  EXPECT_EQ(unmatched.jobs, 1U);
  EXPECT_EQ(trace.jobs[0].spec.time_limit, seconds(5));
  EXPECT_EQ(trace.jobs[1].spec.time_limit, seconds(99));
  give_estimates(trace, {{"a", seconds(7)}});
  EXPECT_EQ(trace.jobs[0].spec.estimate, seconds(7));
  EXPECT_EQ(trace.jobs[1].spec.estimate, kForever);
}

TEST(GivenTimes, AFactorIsOfTheRunTime) {
  trace::Trace trace = two_jobs();
  limit_by_run_time(trace, 1500);
  EXPECT_EQ(trace.jobs[0].spec.time_limit, seconds(150));
  EXPECT_EQ(trace.jobs[1].spec.time_limit, seconds(15));
}

}  // namespace
}  // namespace berth::sim
