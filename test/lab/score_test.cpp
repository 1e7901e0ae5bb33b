// Goal: a run's figures are what their names say.
// Method: runs of a few jobs, scored by hand.
#include "lab/score.hpp"

#include <gtest/gtest.h>

namespace berth::lab {
namespace {

using namespace literals;

Instant at(int second) { return kStart + seconds(second); }

Workload three_jobs() {
  Task task{.asks = 8_GiB, .needs = 7_GiB, .steps = 100, .step = Duration(100'000)};
  Workload workload{.users = {"a", "b"}, .tasks = {task, task, task}};
  workload.tasks[1].user = 1;
  workload.tasks[2].needs = 9_GiB;
  return workload;
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

}  // namespace
}  // namespace berth::lab
