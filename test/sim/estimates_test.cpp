// Goal: what policies are told of run times, and how fast jobs come, are as the words say.
// Method: small traces; draws compared by seed.
#include "sim/estimates.hpp"

#include <gtest/gtest.h>

namespace berth::sim {
namespace {

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
  EXPECT_EQ(*parse_estimates("exact"), Estimates(0));
  EXPECT_EQ(*parse_estimates("none"), Estimates());
  EXPECT_EQ(*parse_estimates("+-30%"), Estimates(30));
  EXPECT_EQ(*parse_estimates("99%"), Estimates(99));
}

TEST(Estimates, WhatIsNoneOfTheseIsNamed) {
  for (const char* text : {"", "%", "30", "+-100%", "-5%", "1e1%", "learned"}) {
    const auto parsed = parse_estimates(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().message, "--estimates: '" + std::string(text) +
                                          "' is not exact, none, or +-N% with N from 0 to 99");
  }
}

TEST(Estimates, StayWithinTheirRangeAndFollowTheSeed) {
  trace::Trace one = three_jobs();
  trace::Trace same = three_jobs();
  trace::Trace other = three_jobs();
  apply_estimates(one, 30, 1);
  apply_estimates(same, 30, 1);
  apply_estimates(other, 30, 2);
  bool differs = false;
  for (std::size_t i = 0; i < one.jobs.size(); ++i) {
    EXPECT_GE(one.jobs[i].spec.estimate, seconds(700));
    EXPECT_LE(one.jobs[i].spec.estimate, seconds(1300));
    EXPECT_EQ(one.jobs[i].spec.estimate, same.jobs[i].spec.estimate);
    differs = differs || one.jobs[i].spec.estimate != other.jobs[i].spec.estimate;
  }
  EXPECT_TRUE(differs);
}

TEST(Estimates, NoneIsNone) {
  trace::Trace trace = three_jobs();
  apply_estimates(trace, std::nullopt, 1);
  EXPECT_EQ(trace.jobs[0].spec.estimate, kForever);
  apply_estimates(trace, 0, 1);
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
