// Muri-L without its matching against the simulator of Muri (Zhao et al., SIGCOMM 2022).
//
// Source: oracles/muri, runs of Rivendile/Muri, commit 4e69a78ce7, schedule
// multi-resource-gpu-unaware, on its traces: 8 nodes of 8 GPUs, 6,454 jobs in all. Method: its
// clock and its overheads in muri_oracle.hpp; which jobs share GPUs is the rule of the policies,
// and how long their iterations take then is what `--share stages` says. The first start and the
// end of every job must be equal to a thousandth of a second, less than 1e-9 of the longest.
// Skipped without the files. Passes of our own were worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "paper/muri_oracle.hpp"

namespace berth::test {
namespace {

struct MuriTrace {
  const char* name;
  std::size_t jobs;
};

class MuriOracle : public testing::TestWithParam<MuriTrace> {};

TEST_P(MuriOracle, EachJobStartsAndEndsAsThere) {
  const std::string name = GetParam().name;
  const auto trace = std::filesystem::path("traces/muri/simulator") / (name + ".csv.gz");
  const auto theirs = std::filesystem::path("oracles/muri") / ("jobs_" + name + ".csv.gz");
  for (const auto& file : {trace, theirs}) {
    if (const auto absent = absent_shared(file)) GTEST_SKIP() << *absent;
  }
  MuriRun run(Muri::Unmatched, muri_jobs(trace));
  std::map<std::string, const MuriOracleJob*> ours;
  for (const MuriOracleJob& job : run.finish()) ours[job.id] = &job;
  std::size_t equal = 0;
  for (Rows rows(theirs); rows.next();) {
    const MuriOracleJob& job = *ours.at(rows.text("job_id"));
    constexpr double kClose = 1e-3;
    const bool same = std::abs(job.start - rows.number("start_muri_l_noblossom")) < kClose &&
                      std::abs(job.end - rows.number("end_muri_l_noblossom")) < kClose;
    equal += same ? 1 : 0;
  }
  EXPECT_EQ(ours.size(), GetParam().jobs);
  EXPECT_EQ(equal, GetParam().jobs);
}

INSTANTIATE_TEST_SUITE_P(Traces, MuriOracle,
                         testing::Values(MuriTrace{"trace1", 1494}, MuriTrace{"trace3", 992},
                                         MuriTrace{"trace3_pr", 992}, MuriTrace{"job_type_1", 992},
                                         MuriTrace{"job_type_2", 992},
                                         MuriTrace{"job_type_3", 992}),
                         [](const auto& run) { return std::string(run.param.name); });

// ---- Worked out by hand ----

std::vector<MuriJob> muri_singles(std::size_t jobs) {
  std::vector<MuriJob> asked;
  for (std::size_t job = 0; job < jobs; ++job) {
    asked.push_back({.key = static_cast<std::int64_t>(job)});
  }
  return asked;
}

MuriPlace muri_room(int free) {
  return [free](std::size_t) mutable { return free-- > 0; };
}

/// Two GPUs, and jobs of one each that all have three stages of this length.
std::vector<MuriGroup> muri_pass(std::size_t jobs, Duration stage) {
  const std::vector<MuriJob> asked = muri_singles(jobs);
  const std::vector<Iteration> times(jobs, {.alone = seconds(1), .stages = {stage, stage, stage}});
  MuriGroups groups = muri_candidates(asked, 2, muri_room(2));
  muri_fill(asked, groups);
  const MuriPays pays = [&](const MuriGroup& group) {
    return muri_pays(times, group, kUnmatchedStages);
  };
  return muri_chosen(asked, groups.list, pays, muri_room(2));
}

TEST(Muri, JobsShareWhileThereAreTooManyOfThem) {
  using Groups = std::vector<MuriGroup>;
  const Duration short_one = Duration(300'000);
  EXPECT_EQ(muri_pass(2, short_one), (Groups{{0}, {1}}));
  EXPECT_EQ(muri_pass(4, short_one), (Groups{{0, 1, 2}, {3}}))
      << "two GPUs are enough for two groups";
  EXPECT_EQ(muri_pass(6, short_one), (Groups{{0, 1, 2, 3}, {4, 5}}));
  EXPECT_EQ(muri_pass(9, short_one), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}})) << "the ninth waits";
  EXPECT_EQ(muri_pass(6, seconds(1)), (Groups{{0}, {1}}))
      << "together they are slower than in turn";
}

TEST(Muri, AMatchingPutsJobsTogetherThatUseDifferentResources) {
  // On one GPU, two jobs that read and two that compute. The pairs of one kind need 18 s or 16 s of
  // a resource for two iterations, a pair of both 10 s.
  const std::vector<MuriJob> jobs = muri_singles(4);
  const Iteration reads{.alone = seconds(10), .stages = {seconds(9), seconds(1), seconds(0)}};
  const Iteration computes{.alone = seconds(10), .stages = {seconds(1), seconds(1), seconds(8)}};
  const std::vector<Iteration> times = {reads, reads, computes, computes};
  const MuriGain gain = [&](const MuriGroup& group) {
    return muri_gain(times, group, kMatchedStages);
  };
  MuriGroups groups = muri_candidates(jobs, 2, muri_room(2));
  EXPECT_EQ(groups.need, 4);
  const auto first = muri_question(jobs, groups, gain);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->edges.size(), 6U);
  muri_join(jobs, groups, *first, solve::answer({*first}).values);
  for (const MuriGroup& group : groups.list) {
    ASSERT_EQ(group.size(), 2U);
    EXPECT_LT(group[0], 2U) << "one that reads";
    EXPECT_GE(group[1], 2U) << "and one that computes";
  }
  EXPECT_EQ(groups.need, 2);
  EXPECT_FALSE(muri_question(jobs, groups, gain)) << "there is a GPU for each group";
  groups.capacity = 1;
  const auto second = muri_question(jobs, groups, gain);
  ASSERT_TRUE(second);
  muri_join(jobs, groups, *second, solve::answer({*second}).values);
  ASSERT_EQ(groups.list.size(), 1U);
  EXPECT_EQ(groups.list[0].size(), 4U);
}

TEST(Muri, PairsStayApartOnceThereAreGpusForAll) {
  const std::vector<MuriJob> jobs = muri_singles(4);
  MuriGroups groups = muri_candidates(jobs, 3, muri_room(3));
  const Matching asked{.nodes = 4, .edges = {{0, 2, 1}, {1, 3, 1}}};
  muri_join(jobs, groups, asked, std::vector<std::int64_t>{1'000'000, 1'000'000});
  EXPECT_EQ(groups.list, (std::vector<MuriGroup>{{0, 2}, {1}, {3}}));
  EXPECT_EQ(groups.need, 3);
}

TEST(Muri, AnIterationIsARoundOfStages) {
  const Duration stage = Duration(300'000);
  const Iteration job{.alone = seconds(1), .stages = {stage, stage, stage}};
  const std::vector<Iteration> four(4, job);
  const auto together = [&](std::size_t jobs, const StageFactors& factors) {
    return iteration_together(std::span(four).first(jobs), factors);
  };
  EXPECT_EQ(together(1, kUnmatchedStages), 1'000'000'000'000);
  // Two have three steps to a round, since no stage of either can go beside its own next.
  EXPECT_EQ(together(2, kUnmatchedStages), 900'000'000'000 * 1330 / 1015);
  EXPECT_EQ(together(4, kUnmatchedStages), 1'200'000'000'000 * 1300 / 1015);
  EXPECT_EQ(together(4, kMatchedStages), 1'200'000'000'000 * 1370 / 1015);
}

TEST(Muri, TheListIsInTheOrderOfGpusThenKeys) {
  const std::vector<MuriJob> jobs = {
      {.gpus = 1, .key = 5}, {.gpus = 2, .key = 9}, {.gpus = 1, .key = 3}, {.gpus = 2, .key = 9}};
  EXPECT_EQ(muri_order(jobs), (std::vector<std::size_t>{1, 3, 2, 0}));
}

}  // namespace
}  // namespace berth::test
