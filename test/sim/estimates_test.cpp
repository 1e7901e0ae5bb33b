// Goal: what policies are told of run times, and how fast jobs come, are as the words say.
// Method: small traces; draws compared by seed.
#include "sim/estimates.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/registry.hpp"
#include "sim/simulator.hpp"

namespace berth::sim {
namespace {

constexpr Estimates kExact{Estimates::Kind::Even};
constexpr Estimates kThirty{Estimates::Kind::Even, 30};

trace::Trace three_jobs() {
  trace::Trace trace;
  for (int i = 0; i < 3; ++i) {
    trace.jobs.push_back({.name = std::to_string(i),
                          .submit = kStart + seconds(100 + 60 * i),
                          .duration = seconds(1000),
                          .spec = {}});
  }
  return trace;
}

TEST(Estimates, AreReadAsWritten) {
  EXPECT_EQ(*parse_estimates("exact"), kExact);
  EXPECT_EQ(*parse_estimates("none"), Estimates());
  EXPECT_EQ(*parse_estimates("learned"), Estimates{Estimates::Kind::Learned});
  EXPECT_EQ(*parse_estimates("+-30%"), (Estimates{Estimates::Kind::Even, 30}));
  EXPECT_EQ(*parse_estimates("99%"), (Estimates{Estimates::Kind::Even, 99}));
}

TEST(Estimates, WhatIsNoneOfTheseIsNamed) {
  for (const char* text : {"", "%", "30", "+-100%", "-5%", "1e1%", "learnt"}) {
    const auto parsed = parse_estimates(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().message, "--estimates: '" + std::string(text) +
                                          "' is not exact, none, learned, helios, adversarial, a "
                                          "file, or +-N% with N from 0 to 99");
  }
}

TEST(Estimates, StayWithinTheirRangeAndFollowTheSeed) {
  trace::Trace one = three_jobs();
  trace::Trace same = three_jobs();
  trace::Trace other = three_jobs();
  apply_estimates(one, kThirty, 1);
  apply_estimates(same, kThirty, 1);
  apply_estimates(other, kThirty, 2);
  bool differs = false;
  for (std::size_t i = 0; i < one.jobs.size(); ++i) {
    EXPECT_GE(one.jobs[i].spec.estimate, seconds(700));
    EXPECT_LE(one.jobs[i].spec.estimate, seconds(1300));
    EXPECT_EQ(one.jobs[i].spec.estimate, same.jobs[i].spec.estimate);
    differs = differs || one.jobs[i].spec.estimate != other.jobs[i].spec.estimate;
  }
  EXPECT_TRUE(differs);
}

TEST(Estimates, OfAnAdversaryGiveTheLongestTheShortestRunTime) {
  EXPECT_EQ(*parse_estimates("adversarial"), Estimates{Estimates::Kind::Adversarial});
  trace::Trace trace = three_jobs();
  trace.jobs[0].duration = seconds(50);
  trace.jobs[2].duration = seconds(7);
  apply_estimates(trace, *parse_estimates("adversarial"), 1);
  EXPECT_EQ(trace.jobs[0].spec.estimate, seconds(50));
  EXPECT_EQ(trace.jobs[1].spec.estimate, seconds(7));
  EXPECT_EQ(trace.jobs[2].spec.estimate, seconds(1000));
}

TEST(Estimates, OfHeliosAreAsWrongAsItsModelWas) {
  trace::Trace trace;
  trace.jobs.assign(10'000, {.name = "j", .submit = kStart, .duration = seconds(1000), .spec = {}});
  apply_estimates(trace, *parse_estimates("helios"), 1);
  const auto within = [&](std::int64_t percent) {
    return std::ranges::count_if(trace.jobs, [&](const trace::TraceJob& job) {
      const Duration error = job.spec.estimate - job.duration;
      return std::max(error, -error) <= seconds(10 * percent);
    });
  };
  EXPECT_NEAR(static_cast<double>(within(10)), 1000, 100);
  EXPECT_NEAR(static_cast<double>(within(50)), 5000, 150);
  // Half of what is more than all of it would be below nothing, and is nothing: wrong by 100 %.
  EXPECT_NEAR(static_cast<double>(within(100)), 8500, 150);
  EXPECT_NEAR(static_cast<double>(within(1000)), 9500, 100);
  EXPECT_EQ(within(10'000), 10'000);
}

TEST(Estimates, NoneIsNone) {
  trace::Trace trace = three_jobs();
  apply_estimates(trace, {}, 1);
  EXPECT_EQ(trace.jobs[0].spec.estimate, kForever);
  apply_estimates(trace, kExact, 1);
  EXPECT_EQ(trace.jobs[0].spec.estimate, seconds(1000));
}

trace::TraceJob run_of(const char* model, int submit, int run, int gpus = 1) {
  trace::TraceJob job{.name = std::to_string(submit),
                      .submit = kStart + seconds(submit),
                      .duration = seconds(run),
                      .spec = {.user = UserId(1)},
                      .model = model};
  job.spec.request.gpu.count = GpuCount(gpus);
  job.spec.request.gpu.sharing = Sharing::Alone;
  return job;
}

Duration told(const Learner& learner, const trace::Trace& trace, std::size_t job) {
  JobSpec spec = trace.jobs[job].spec;
  learner.estimate(job, spec);
  return spec.estimate;
}

void learn_five(Learner& learner, std::size_t job, int ran) {
  for (int i = 0; i < 5; ++i) learner.learn(job, seconds(ran), Outcome::Done);
}

TEST(Estimates, AreLearnedFromTheRunsOfTheModelBefore) {
  trace::Trace trace;
  trace.jobs = {run_of("a", 0, 0), run_of("b", 0, 0), run_of("a", 0, 0, 2), run_of("", 0, 0),
                run_of("a", 0, 0)};
  trace.jobs[4].spec.user = UserId(2);
  Learner learner(trace, Programs::None);
  EXPECT_EQ(told(learner, trace, 0), kForever) << "nothing has ended";
  for (int i = 0; i < 4; ++i) learner.learn(0, seconds(100), Outcome::Done);
  EXPECT_EQ(told(learner, trace, 0), kForever) << "four runs are too few";
  learner.learn(0, seconds(100), Outcome::Timeout);
  learn_five(learner, 3, 7);
  EXPECT_EQ(told(learner, trace, 0), seconds(100));
  EXPECT_EQ(told(learner, trace, 2), seconds(100)) << "on any number of GPUs";
  EXPECT_EQ(told(learner, trace, 1), kForever) << "another model";
  EXPECT_EQ(told(learner, trace, 3), kForever) << "no model";
  EXPECT_EQ(told(learner, trace, 4), kForever) << "another user";
  learn_five(learner, 1, 0);
  EXPECT_EQ(told(learner, trace, 1), Duration(1)) << "an estimate is never nothing";
  trace.jobs[0].spec.estimate = seconds(7);
  EXPECT_EQ(told(learner, trace, 0), seconds(7)) << "what a job states stands";
}

TEST(Estimates, AreLearnedByNameWhereThatTells) {
  trace::Trace trace;
  trace.jobs = {run_of("a", 0, 0), run_of("a", 0, 0), run_of("b", 0, 0)};
  trace.jobs[0].name = "train-1";
  trace.jobs[1].name = "eval-1";
  trace.jobs[2].name = "train-2";
  Learner learner(trace, Programs::Name);
  learn_five(learner, 0, 100);
  learn_five(learner, 1, 10);
  EXPECT_EQ(told(learner, trace, 2), seconds(100));
}

TEST(Estimates, AreLearnedDuringARunFromWhatEndedOnly) {
  trace::Trace trace;
  // The eleventh has the only GPU while the last two come; what is known of them is what ended.
  for (int i = 0; i < 5; ++i) trace.jobs.push_back(run_of("long", i, 100));
  for (int i = 0; i < 5; ++i) trace.jobs.push_back(run_of("short", 5 + i, 10));
  trace.jobs.push_back(run_of("wall", 10, 500));
  trace.jobs.push_back(run_of("long", 600, 10));
  trace.jobs.push_back(run_of("short", 601, 90));
  const auto starts = [&](Told told) {
    const auto result =
        simulate(trace, *trace::parse_cluster("1x1"), *make_policy("sjf", ""), {.told = told});
    return std::pair(result->jobs[11].start, result->jobs[12].start);
  };
  EXPECT_EQ(starts(Told::Exact), std::pair(kStart + seconds(1050), kStart + seconds(1060)));
  EXPECT_EQ(starts(Told::Learned), std::pair(kStart + seconds(1140), kStart + seconds(1050)));
}

TEST(Load, BringsSubmissionsTogetherFromTheFirstOn) {
  trace::Trace trace = three_jobs();
  apply_load(trace, 2);
  EXPECT_EQ(trace.jobs[0].submit, kStart + seconds(100));
  EXPECT_EQ(trace.jobs[1].submit, kStart + seconds(130));
  EXPECT_EQ(trace.jobs[2].submit, kStart + seconds(160));
}

}  // namespace
}  // namespace berth::sim
