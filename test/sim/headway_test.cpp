// Goal: a run that can never end is ended, with the reason; where work is lost, bounds on what
// preemption may cost let the same jobs be done.
// Method: two jobs of an hour on one GPU under policies that take turns every few minutes, and one
// long job under a stream of short ones; what is preempted begins again from nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "policy/registry.hpp"
#include "sim/one_gpu_job.hpp"
#include "sim/simulator.hpp"

namespace berth::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Headways : public testing::TestWithParam<const char*> {
 protected:
  static trace::Trace two_hours() {
    trace::Trace trace;
    trace.jobs = {one_gpu_job("one", 0, 3600), one_gpu_job("other", 0, 3600)};
    return trace;
  }
  static Expected<Result> replay(const trace::Trace& trace, const Options& options) {
    return simulate(trace, *trace::parse_cluster("1x1"), *make_policy(GetParam(), ""), options);
  }
};

TEST_P(Headways, ARunThatCanNeverEndIsEnded) {
  const auto result = replay(two_hours(), {.costs = {.can_suspend = false}, .bounds = kUnbounded});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::Conflict);
  EXPECT_THAT(result.error().message,
              AllOf(HasSubstr("the run never ends"), HasSubstr("one"), HasSubstr("other"),
                    HasSubstr("--checkpoint-every never")));
}

TEST_P(Headways, StartsThatCostAsMuchTimeAsAJobGetsAreNoHeadwayEither) {
  const auto result = replay(two_hours(), {.costs = {.start = minutes(20)}});
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, HasSubstr("--start-latency"));
}

TEST_P(Headways, CheckpointsThatAreNeverReachedAreNamed) {
  const auto result =
      replay(two_hours(), {.costs = {.can_suspend = false, .checkpoint = minutes(30)}});
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, HasSubstr("last checkpoint"));
}

TEST_P(Headways, WithBoundsBothAreDone) {
  const auto result = replay(two_hours(), {.costs = {.can_suspend = false}});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  for (const JobResult& done : result->jobs) {
    EXPECT_NE(done.end, kNever);
    EXPECT_LE(done.preemptions, 3);
    EXPECT_LE(done.spent.lost, hours(1));
  }
}

INSTANTIATE_TEST_SUITE_P(Turns, Headways,
                         testing::Values("las", "gavel/isolated", "gittins-learned"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace_if(
                               name, [](char c) { return c == '/' || c == '-'; }, '_');
                           return name;
                         });

class Streams : public testing::TestWithParam<const char*> {};

/// A job of ten minutes under jobs of 20 s at 80 % of the GPU's time, for two hours.
TEST_P(Streams, ALongJobIsDoneWhileShortOnesKeepComing) {
  trace::Trace trace;
  trace.jobs.push_back(one_gpu_job("long", 0, 600));
  constexpr int kShort = 288;
  for (int i = 1; i <= kShort; ++i) trace.jobs.push_back(one_gpu_job("short", 25 * i, 20));
  const auto run = [&](const PreemptionBounds& bounds) {
    return simulate(trace, *trace::parse_cluster("1x1"), *make_policy(GetParam(), ""),
                    {.costs = {.can_suspend = false}, .bounds = bounds});
  };
  const auto bounded = run({});
  ASSERT_TRUE(bounded.has_value()) << bounded.error().message;
  const JobResult& done = bounded->jobs.front();
  EXPECT_LT(done.end, trace.jobs.back().submit);
  EXPECT_LE(done.preemptions, 3);
  const auto unbounded = run(kUnbounded);  // what the bounds are for
  ASSERT_TRUE(unbounded.has_value()) << unbounded.error().message;
  EXPECT_GT(unbounded->jobs.front().end, done.end);
  EXPECT_GT(unbounded->jobs.front().preemptions, 3);
}

INSTANTIATE_TEST_SUITE_P(Starving, Streams,
                         testing::Values("srtf", "srsf", "tiresias/shortest", "las"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace berth::sim
