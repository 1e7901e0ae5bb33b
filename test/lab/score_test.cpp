// Goal: a run's figures are what their names say.
// Method: runs of a few jobs, scored by hand.
#include "lab/score.hpp"

#include <gtest/gtest.h>

namespace berth::lab {
namespace {

using namespace literals;

Instant at(int second) { return kStart + seconds(second); }

trace::Trace three_jobs() {
  trace::TraceJob job{.name = "j", .duration = seconds(10), .spec = {.user = UserId(1)}};
  job.spec.request.gpu = {.count = GpuCount(1), .vram = 8_GiB};
  job.use = trace::UseCurve({{Duration(0), 7_GiB}});
  trace::Trace trace;
  trace.jobs = {job, job, job};
  trace.jobs[1].spec.user = UserId(2);
  trace.jobs[2].use = trace::UseCurve({{Duration(0), 9_GiB}});
  return trace;
}

TEST(Score, CountsWaitsAndSlowdownOfWhatFinished) {
  const lab::Run run{.name = "r",
                     .fates = {{"done", at(0), at(2), at(12)},
                               {"done", at(0), at(4), at(24)},
                               {"oom", at(0), at(0), at(30)}},
                     .use = {}};
  const Score got = score(three_jobs(), run);
  EXPECT_EQ(got.finished, 2);
  EXPECT_DOUBLE_EQ(got.mean_wait, 3);
  EXPECT_DOUBLE_EQ(got.mean_jct, 18);
  EXPECT_DOUBLE_EQ(got.slowdown, 1.5);
  EXPECT_DOUBLE_EQ(got.user_spread, 2);
  EXPECT_DOUBLE_EQ(got.makespan, 30) << "the last end counts, whoever's";
}

TEST(Score, WhoStayedWithinItsRequestDiedByAdmissionTheOtherByItsOwnOverrun) {
  const lab::Run run{.name = "r",
                     .fates = {{"oom", at(0), at(0), at(1)},
                               {"failed", at(0), at(0), at(1)},
                               {"oom", at(0), at(0), at(1)}},
                     .use = {}};
  const Score got = score(three_jobs(), run);
  EXPECT_EQ(got.oom_by_admission, 1);
  EXPECT_EQ(got.oom_by_overrun, 1);
  EXPECT_EQ(got.failed_otherwise, 1);
}

TEST(Score, TogetherCountsAreSumsAndTheRestMeans) {
  const std::vector<Score> scores = {{.finished = 3, .mean_wait = 1, .makespan = 10},
                                     {.finished = 5, .mean_wait = 2, .makespan = 30}};
  const Score all = together(scores);
  EXPECT_EQ(all.finished, 8);
  EXPECT_DOUBLE_EQ(all.mean_wait, 1.5);
  EXPECT_DOUBLE_EQ(all.makespan, 20);
}

TEST(Score, AgreementIsLiveOverSimulatedForEachFigure) {
  const Scores scores = {{"a, live", {.mean_wait = 3, .makespan = 12, .use = {.busy = 0.5}}},
                         {"a, simulated", {.mean_wait = 2, .makespan = 12, .use = {.busy = 0.4}}}};
  EXPECT_NE(agreement(scores).find("| a | 1.50 | - | - | - | 1.00 | - | 1.25 | - |"),
            std::string::npos)
      << agreement(scores);
}

}  // namespace
}  // namespace berth::lab
