// Goal: an answer is a best solution of its question, or says that there is none; bad questions are
// refused, and the same question has the same answer.
// Method: programs solved by hand; a drawn program against every vertex of it; floors against a
// formula; columns out of range.
#include "solve/solve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/rng.hpp"

namespace berth::solve {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kOne = 1'000'000;
using Values = std::vector<std::int64_t>;

Values values_of(Question question) { return answer(question).values; }

TEST(Solve, TheGainIsAsLargeAsTheRowsAllow) {
  // x + y <= 1, z <= x, z <= 2 y: z = 2/3.
  const LinearProgram program{.columns = 3,
                              .rows = {{{{0, kOne}, {1, kOne}}, kOne},
                                       {{{2, kOne}, {0, -kOne}}, 0},
                                       {{{2, kOne}, {1, -2 * kOne}}, 0}},
                              .gain = {{2, kOne}}};
  EXPECT_THAT(values_of({program}), ElementsAre(666'667, 333'333, 666'667));
}

TEST(Solve, OfSeveralBestSolutionsItTakesTheMiddle) {
  const std::vector<Row> one = {{{{0, kOne}, {1, kOne}}, kOne}};
  const std::vector<Term> sum = {{0, kOne}, {1, kOne}};
  EXPECT_THAT(values_of({LinearProgram{2, one, sum}}), ElementsAre(500'000, 500'000));
  // x + y = 1, x <= 1/2: the product x (1 - x) (1/2 - x) is largest at 1/2 - 1/sqrt(12).
  std::vector<Row> bounded = one;
  bounded.push_back({{{0, kOne}}, kOne / 2});
  const Values values = values_of({LinearProgram{2, bounded, sum}});
  ASSERT_EQ(values.size(), 2U);
  EXPECT_NEAR(static_cast<double>(values[0]), 211'325, 10);
  EXPECT_NEAR(static_cast<double>(values[1]), 788'675, 10);
}

TEST(Solve, WhatHasNoBestSolutionHasNoValues) {
  EXPECT_THAT(values_of({LinearProgram{1, {}, {{0, kOne}}}}), IsEmpty()) << "no bound";
  EXPECT_THAT(values_of({LinearProgram{1, {{{{0, kOne}}, -kOne}}, {{0, kOne}}}}), IsEmpty())
      << "x <= -1";
  EXPECT_THAT(values_of({LinearProgram{}}), IsEmpty());
}

TEST(Solve, QuestionsThatNameWhatTheyDoNotHaveAreNotSolved) {
  const std::vector<Term> gain = {{0, kOne}};
  EXPECT_THAT(values_of({LinearProgram{1, {{{{1, kOne}}, kOne}}, gain}}), IsEmpty());
  EXPECT_THAT(values_of({LinearProgram{1, {{{{0, kOne}, {0, kOne}}, kOne}}, gain}}), IsEmpty());
  EXPECT_THAT(values_of({LeastSlowdown{1, {}, {{{{0, kOne}}, 0, 1, 0}}}}), IsEmpty());
  EXPECT_THAT(values_of({LeastSlowdown{1, {}, {{{{0, kOne}}, 1, 0, 0}}}}), IsEmpty());
  EXPECT_THAT(values_of({LeastSlowdown{1, {}, {{{{7, kOne}}, 1, 1, 0}}}}), IsEmpty());
}

/// Two jobs on one GPU: the second has half as much to do, and waited for `before` of its scale.
LeastSlowdown two_jobs(std::int64_t before) {
  return {.columns = 2,
          .rows = {{{{0, kOne}, {1, kOne}}, kOne}},
          .floors = {{{{0, kOne}}, 200, 200, 0}, {{{1, kOne}}, 100, 200, before}}};
}

TEST(Solve, TheLeastSlowdownIsThatAtWhichAllFloorsFit) {
  // 1/z + 1/(2z) = 1: z = 1.5.
  const Values values = values_of({two_jobs(0)});
  ASSERT_EQ(values.size(), 2U);
  EXPECT_NEAR(static_cast<double>(values[0]), 2e6 / 3, 3);
  EXPECT_NEAR(static_cast<double>(values[1]), 1e6 / 3, 3);
  // 1/z + 1/(2z - 2) = 1, that is (2z - 1)(z - 2) = 0: z = 2.
  const Values late = values_of({two_jobs(200)});
  ASSERT_EQ(late.size(), 2U);
  EXPECT_NEAR(static_cast<double>(late[0]), 5e5, 3);
  EXPECT_NEAR(static_cast<double>(late[1]), 5e5, 3);
}

TEST(Solve, AFloorThatNoColumnReachesHasNoSlowdown) {
  EXPECT_THAT(values_of({LeastSlowdown{1, {{{{0, kOne}}, kOne}}, {{{}, 1, 1, 0}}}}), IsEmpty());
}

/// Max-min of jobs on types of GPU.
LinearProgram drawn(Rng& rng) {
  const auto jobs = static_cast<std::uint32_t>(rng.between(1, 12));
  LinearProgram program{.columns = 2 * jobs + 1, .rows = {}, .gain = {{2 * jobs, kOne}}};
  Row first{.terms = {}, .most = rng.between(1, 4) * kOne};
  Row second{.terms = {}, .most = rng.between(1, 4) * kOne};
  for (std::uint32_t job = 0; job < jobs; ++job) {
    const std::int64_t on_first = rng.between(1, 9) * kOne / 3;
    const std::int64_t on_second = rng.between(1, 9) * kOne / 3;
    program.rows.push_back({{{2 * job, kOne}, {2 * job + 1, kOne}}, kOne});
    program.rows.push_back(
        {{{2 * jobs, kOne}, {2 * job, -on_first}, {2 * job + 1, -on_second}}, 0});
    first.terms.push_back({2 * job, kOne});
    second.terms.push_back({2 * job + 1, kOne});
  }
  program.rows.push_back(std::move(first));
  program.rows.push_back(std::move(second));
  return program;
}

std::int64_t sum_of(const std::vector<Term>& terms, const Values& values) {
  std::int64_t sum = 0;
  for (const Term& term : terms) sum += term.factor * values[term.column] / kOne;
  return sum;
}

TEST(Solve, DrawnProgramsAreKeptToTheirRowsAndAnsweredTheSameTwice) {
  Rng rng(7);
  for (int i = 0; i < 200; ++i) {
    const Question question{drawn(rng)};
    const auto& program = std::get<LinearProgram>(question.what);
    const Answer once = answer(question);
    EXPECT_EQ(once, answer(question));
    EXPECT_EQ(once.number, question.number());
    ASSERT_EQ(once.values.size(), program.columns);
    for (const Row& row : program.rows) EXPECT_LE(sum_of(row.terms, once.values), row.most + 60);
    // No job gets more if it costs the one with least: a larger least has no solution.
    Question more = question;
    auto& tight = std::get<LinearProgram>(more.what);
    tight.rows.push_back({{{program.columns - 1, -kOne}}, -once.values.back() - 1'000});
    EXPECT_THAT(values_of(more), IsEmpty());
  }
}

TEST(Question, NumbersTellQuestionsApart) {
  const Question one{LinearProgram{1, {}, {{0, kOne}}}};
  const Question other{LinearProgram{1, {}, {{0, kOne + 1}}}};
  EXPECT_EQ(one.number(), Question(one).number());
  EXPECT_NE(one.number(), other.number());
  EXPECT_NE(Question{LinearProgram{}}.number(), Question{LeastSlowdown{}}.number());
}

}  // namespace
}  // namespace berth::solve
