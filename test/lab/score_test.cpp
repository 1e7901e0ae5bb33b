// Goal: a run's figures are what their names say.
// Method: runs of a few jobs, scored by hand.
#include "lab/score.hpp"

#include <gtest/gtest.h>

#include "lab/live.hpp"

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

// ---- What was lost is run again --------------------------------------------------------------

lab::Run with_a_retry() {
  lab::Run run{.name = "r",
               .fates = {{"done", at(0), at(2), at(12)},
                         {"done", at(1), at(10), at(21)},
                         {"failed", at(0), at(3), at(5)}},
               .use = {}};
  run.fates[1].attempts = 3;
  run.fates[1].lost = seconds(4);
  run.fates[2].attempts = kMostTries;
  run.fates[2].lost = seconds(40);
  return run;
}

TEST(Effort, CountsFromTheFirstSubmissionToTheResultAndWhatWasForNothing) {
  trace::Trace trace = three_jobs();
  trace.jobs[1].spec.request.gpu.count = GpuCount(2);
  const Effort got = effort(trace, with_a_retry());
  EXPECT_EQ(got.jobs, 3);
  EXPECT_EQ(got.first_try, 1);
  EXPECT_EQ(got.unfinished, 1);
  EXPECT_DOUBLE_EQ(got.wasted, 4 * 2 + 40);
  EXPECT_DOUBLE_EQ(got.mean, (12 + 20) / 2.0);
  EXPECT_DOUBLE_EQ(got.worst, 20);
  EXPECT_DOUBLE_EQ(got.makespan, 21) << "until the last result";
}

TEST(Effort, IsAlignedAndSaidInWords) {
  const Effort polling{.jobs = 24,
                       .first_try = 16,
                       .wasted = 12.34,
                       .mean = 8.04,
                       .worst = 30,
                       .makespan = 31,
                       .called = "polling"};
  const Effort ours{
      .jobs = 24, .first_try = 24, .mean = 5.91, .worst = 20, .makespan = 24, .called = "berth"};
  const Efforts efforts = {{"free", polling}, {"headroom", ours}};
  EXPECT_EQ(table(efforts),
            "          first try  GPU-seconds wasted  mean time   worst  makespan\n"
            "free          16/24                12.3      8.0 s  30.0 s    31.0 s\n"
            "headroom      24/24                 0.0      5.9 s  20.0 s    24.0 s\n");
  EXPECT_EQ(
      in_words(efforts),
      "berth: 24 of 24 jobs at the first try, a result after 5.9 s on average and 20.0 s at "
      "most.\n"
      "polling: 16 of 24 jobs at the first try, a result after 8.0 s on average and 30.0 s at "
      "most, 12.3 GPU-seconds for nothing.\n");
}

}  // namespace
}  // namespace berth::lab
