// Goal: what policies are told of run times, and how fast jobs come, are as the words say.
// Method: small traces; draws compared by seed.
#include "sim/estimates.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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
  EXPECT_EQ(*parse_estimates("+-30%"), (Estimates{Estimates::Kind::Even, 30}));
  EXPECT_EQ(*parse_estimates("99%"), (Estimates{Estimates::Kind::Even, 99}));
}

TEST(Estimates, WhatIsNoneOfTheseIsNamed) {
  for (const char* text : {"", "%", "30", "+-100%", "-5%", "1e1%", "learned"}) {
    const auto parsed = parse_estimates(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().message,
              "--estimates: '" + std::string(text) +
                  "' is not exact, none, helios, or +-N% with N from 0 to 99");
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

TEST(Load, BringsSubmissionsTogetherFromTheFirstOn) {
  trace::Trace trace = three_jobs();
  apply_load(trace, 2);
  EXPECT_EQ(trace.jobs[0].submit, kStart + seconds(100));
  EXPECT_EQ(trace.jobs[1].submit, kStart + seconds(130));
  EXPECT_EQ(trace.jobs[2].submit, kStart + seconds(160));
}

}  // namespace
}  // namespace berth::sim
