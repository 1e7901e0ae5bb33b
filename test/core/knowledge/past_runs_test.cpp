// Goal: what is known of one program or user is never pushed out by another's, within bounds.
// Method: more runs, programs and users than there are places.
#include "core/knowledge/past_runs.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr UserId kOwner(1);
constexpr UserId kOtherUser(2);

PastRun run(std::int64_t ran) { return {GpuCount(1), seconds(ran)}; }

TEST(PastRuns, AreByUserAndProgram) {
  PastRuns runs;
  runs.add(kOwner, Fingerprint(7), run(10));
  EXPECT_EQ(runs.of(kOwner, Fingerprint(7)).size(), 1U);
  EXPECT_TRUE(runs.of(kOwner, Fingerprint(8)).empty());
  EXPECT_TRUE(runs.of(kOtherUser, Fingerprint(7)).empty());
}

TEST(PastRuns, NobodyPushesOutAnothers) {
  PastRuns runs;
  runs.add(kOwner, Fingerprint(7), run(10));
  for (std::uint64_t i = 1; i <= 3000; ++i) {
    runs.add(kOtherUser, Fingerprint(1 + i % 200), run(0));
    runs.add(kOwner, Fingerprint(8), run(0));
  }
  ASSERT_EQ(runs.of(kOwner, Fingerprint(7)).size(), 1U);
  EXPECT_EQ(runs.of(kOwner, Fingerprint(7)).front(), run(10));
  EXPECT_EQ(runs.of(kOwner, Fingerprint(8)).size(), PastRuns::kMostRuns);
  EXPECT_EQ(runs.users().at(kOtherUser).size(), PastRuns::kMostPrograms);
  EXPECT_TRUE(PastRuns::is_sane(runs.users()));
}

TEST(PastRuns, WhatHasNotRunForLongestMakesRoom) {
  PastRuns runs;
  for (std::uint64_t i = 1; i <= PastRuns::kMostPrograms; ++i) {
    runs.add(kOwner, Fingerprint(i), run(1));
  }
  runs.add(kOwner, Fingerprint(1), run(2));
  runs.add(kOwner, Fingerprint(9999), run(3));
  EXPECT_TRUE(runs.of(kOwner, Fingerprint(2)).empty());
  EXPECT_EQ(runs.of(kOwner, Fingerprint(1)).size(), 2U);
  for (std::uint32_t user = 2; user <= PastRuns::kMostUsers; ++user) {
    runs.add(UserId(user), Fingerprint(1), run(1));
  }
  runs.add(kOwner, Fingerprint(1), run(2));
  runs.add(UserId(100'000), Fingerprint(1), run(1));
  EXPECT_EQ(runs.users().size(), PastRuns::kMostUsers);
  EXPECT_TRUE(runs.of(kOtherUser, Fingerprint(1)).empty());
  EXPECT_FALSE(runs.of(kOwner, Fingerprint(1)).empty());
}

TEST(PastRuns, GoOnFromWhatWasSaved) {
  PastRuns runs;
  for (std::uint64_t i = 1; i <= PastRuns::kMostPrograms; ++i) {
    runs.add(kOwner, Fingerprint(i), run(1));
  }
  PastRuns again(runs.users());
  runs.add(kOwner, Fingerprint(9999), run(3));
  again.add(kOwner, Fingerprint(9999), run(3));
  EXPECT_EQ(again.users(), runs.users());
}

TEST(PastRuns, OnesThatNobodySavedAreSeen) {
  const auto is_sane = [](const PastProgram& program, Fingerprint what = Fingerprint(1)) {
    return PastRuns::is_sane({{kOwner, {{what, program}}}});
  };
  EXPECT_TRUE(is_sane({.latest = 1, .runs = {run(1)}}));
  EXPECT_FALSE(is_sane({.latest = 1, .runs = {run(1)}}, Fingerprint(0)));
  EXPECT_FALSE(is_sane({.latest = 1, .runs = {}}));
  EXPECT_FALSE(is_sane({.latest = 1, .runs = {run(-1)}}));
  EXPECT_FALSE(is_sane({.latest = 1, .runs = {{GpuCount(-1), seconds(1)}}}));
  EXPECT_FALSE(is_sane({.latest = 1, .runs = std::vector(PastRuns::kMostRuns + 1, run(1))}));
  EXPECT_FALSE(PastRuns::is_sane({{kOwner, {}}}));
}

TEST(PastRuns, AWholeRunCameToItsEndOrToItsLimit) {
  EXPECT_TRUE(is_whole_run(Outcome::Done));
  EXPECT_TRUE(is_whole_run(Outcome::Timeout));
  for (const Outcome other :
       {Outcome::Failed, Outcome::Oom, Outcome::Cancelled, Outcome::Lost, Outcome::Rejected}) {
    EXPECT_FALSE(is_whole_run(other));
  }
}

}  // namespace
}  // namespace berth
