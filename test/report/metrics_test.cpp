// Goal: figures count what they say they count: jobs by fate, users where there are any, GPUs once,
// deadlines, a measured window.
// Method: runs of a few jobs, worked out by hand.
#include "report/metrics.hpp"

#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "report/groups.hpp"
#include "report/whole_job.hpp"
#include "sim/estimates.hpp"

namespace berth::sim {
namespace {

using namespace literals;

struct Measured {
  Result result;
  Metrics metrics;
};

Measured run(const trace::Trace& trace, const char* shape, const Options& options = {}) {
  const Cluster cluster = *trace::parse_cluster(shape);
  auto result = simulate(trace, cluster, *make_policy("fifo-skip", "first-fit"), options);
  EXPECT_TRUE(result) << result.error().message;
  Metrics metrics = measure(trace, cluster, *result);
  return {std::move(*result), std::move(metrics)};
}

TEST(MetricsTest, JobsAreCountedByTheirFate) {
  trace::Trace trace;
  trace.jobs = {whole_job(0, 100, 1), whole_job(0, 100, 9), whole_job(0, 100, 1)};
  trace.jobs[2].spec.time_limit = seconds(10);
  const Metrics m = run(trace, "1x4").metrics;
  EXPECT_EQ(m.submitted, 3U);
  EXPECT_EQ(m.jobs, 1U);
  EXPECT_EQ(m.rejected, 1U);
  EXPECT_EQ(m.timed_out, 1U);
  EXPECT_EQ(m.failed(), 1U);
}

TEST(MetricsTest, ThereIsNoFairnessWithoutUsers) {
  trace::Trace trace;
  trace.jobs = {whole_job(0, 100, 1), whole_job(0, 100, 1)};
  EXPECT_FALSE(run(trace, "1x1").metrics.fairness());
  trace.jobs[0].spec.user = UserId(1);
  EXPECT_FALSE(run(trace, "1x1").metrics.fairness()) << "one user has nobody to be compared with";
  trace.jobs[1].spec.user = UserId(2);
  EXPECT_NEAR(run(trace, "1x1").metrics.fairness().value_or(0), 9.0 / (2 * 5), 1e-9);
}

TEST(MetricsTest, TenantsOfOneGpuAreNotSeveralGpus) {
  trace::Trace trace;
  for (int i = 0; i < 4; ++i) {
    trace.jobs.push_back(whole_job(0, 100, 1));
    trace.jobs.back().spec.request.gpu.sharing = Sharing::Shared;
    trace.jobs.back().spec.request.gpu.vram = 1_GiB;
  }
  const Metrics m = run(trace, "1x1").metrics;
  EXPECT_DOUBLE_EQ(m.makespan, 100);
  EXPECT_DOUBLE_EQ(m.allocated, 1);
  EXPECT_DOUBLE_EQ(m.in_use, 1);
  EXPECT_DOUBLE_EQ(m.tenants, 4);
}

TEST(MetricsTest, WhileJobsArriveTheLastLongOneDoesNotCount) {
  trace::Trace trace;  // one GPU of four is busy for 1000 s after the last submission
  trace.jobs = {whole_job(0, 50, 4), whole_job(100, 1000, 1)};
  const Metrics m = run(trace, "1x4").metrics;
  EXPECT_DOUBLE_EQ(m.makespan, 1100);
  EXPECT_DOUBLE_EQ(m.allocated, (200 + 1000) / 4400.0);
  ASSERT_TRUE(m.arriving);
  EXPECT_DOUBLE_EQ(m.arriving->seconds, 100);
  EXPECT_DOUBLE_EQ(m.arriving->allocated, 0.5);
  EXPECT_DOUBLE_EQ(m.arriving->jobs_per_hour, 36);
  EXPECT_DOUBLE_EQ(m.arriving->work_per_hour, 2);
  trace.jobs[1].submit = kStart;
  EXPECT_FALSE(run(trace, "1x4").metrics.arriving) << "all arrive at once";
}

TEST(MetricsTest, OnlyJobsOfTheMeasuredWindowCount) {
  trace::Trace trace;
  trace.jobs = {whole_job(0, 100, 1, 1), whole_job(50, 10, 1, 1), whole_job(90, 10, 1, 2),
                whole_job(200, 10, 1, 2)};
  const Window window{kStart + seconds(50), kStart + seconds(200)};
  const Measured done = run(trace, "1x1", {.measured = window});
  EXPECT_EQ(done.metrics.submitted, 2U);
  EXPECT_DOUBLE_EQ(done.metrics.jct.mean, (60 + 30) / 2.0);
  ASSERT_TRUE(done.metrics.arriving);
  EXPECT_DOUBLE_EQ(done.metrics.arriving->seconds, 150);
  EXPECT_DOUBLE_EQ(done.metrics.arriving->allocated, 70 / 150.0);
  EXPECT_EQ(by_user(trace, done.result).size(), 2U);
  EXPECT_EQ(by_size(trace, done.result).front().submitted, 2U);
}

TEST(MetricsTest, WaitsOfLargeAndOfShortJobsHaveFiguresOfTheirOwn) {
  trace::Trace trace;  // one after the other
  trace.jobs = {whole_job(0, 901, 7), whole_job(0, 900, 8), whole_job(0, 10, 9),
                whole_job(0, 2000, 7)};
  const Metrics m = run(trace, "1x9").metrics;
  EXPECT_EQ(m.large_wait.count, 2U);
  EXPECT_DOUBLE_EQ(m.large_wait.mean, (901 + 1801) / 2.0);
  EXPECT_DOUBLE_EQ(m.large_wait.max, 1801);
  EXPECT_EQ(m.short_wait.count, 2U) << "15 minutes at the most";
  EXPECT_DOUBLE_EQ(m.short_wait.p95, 901 + 0.95 * 900);
}

TEST(MetricsTest, DeadlinesAreMetLateOrNeverKept) {
  trace::Trace trace;
  trace.jobs = {whole_job(0, 100, 1), whole_job(0, 100, 1), whole_job(0, 10, 9),
                whole_job(0, 10, 1)};
  trace.jobs[0].spec.deadline = kStart + seconds(100);
  trace.jobs[1].spec.deadline = kStart + seconds(150);
  trace.jobs[2].spec.deadline = kStart + seconds(1000);
  const auto deadlines = run(trace, "1x1").metrics.deadlines;
  ASSERT_TRUE(deadlines);
  EXPECT_EQ(deadlines->jobs, 3U);
  EXPECT_EQ(deadlines->met, 1U);
  EXPECT_EQ(deadlines->late, 1U);
  EXPECT_DOUBLE_EQ(deadlines->lateness, 50);
}

TEST(MetricsTest, DeadlinesMoveWithTheLoad) {
  trace::Trace trace;
  trace.jobs = {whole_job(0, 1, 1), whole_job(100, 1, 1)};
  trace.jobs[1].spec.deadline = kStart + seconds(130);
  apply_load(trace, 2);
  EXPECT_EQ(trace.jobs[1].submit, kStart + seconds(50));
  EXPECT_EQ(trace.jobs[1].spec.deadline, kStart + seconds(80));
  EXPECT_EQ(trace.jobs[0].spec.deadline, kNever);
}

TEST(GroupsTest, SizesArePowersOfTwo) {
  trace::Trace trace;
  for (const int gpus : {0, 1, 2, 3, 4, 5, 8, 9}) trace.jobs.push_back(whole_job(0, 10, gpus));
  std::vector<std::string> names;
  for (const GroupFigures& group : by_size(trace, run(trace, "1x64").result)) {
    names.push_back(group.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"0", "1", "2", "3-4", "5-8", "9-16"}));
}

TEST(GroupsTest, UsersComeByGpuHoursAndNobodyIsADash) {
  trace::Trace trace;
  trace.jobs = {whole_job(0, 3600, 1, 1), whole_job(0, 3600, 2, 2), whole_job(0, 3600, 1),
                whole_job(0, 3600, 9, 2)};
  trace.jobs[1].user = trace.jobs[3].user = "eve";
  const auto users = by_user(trace, run(trace, "1x4").result);
  ASSERT_EQ(users.size(), 3U);
  EXPECT_EQ(users[0].name, "eve");
  EXPECT_EQ(users[0].submitted, 2U);
  EXPECT_EQ(users[0].rejected, 1U);
  EXPECT_DOUBLE_EQ(users[0].gpu_hours, 2);
  EXPECT_EQ(users[1].name, "-");
  EXPECT_EQ(users[2].name, "1");
  trace.jobs = {whole_job(0, 10, 1)};
  EXPECT_TRUE(by_user(trace, run(trace, "1x4").result).empty());
}

}  // namespace
}  // namespace berth::sim
