// Goal: the latest run of a job begins with its latest start from nothing, and suspensions are not
// of its time. Method: rows of attempts made by hand.
#include "daemon/attempts/latest_run.hpp"

#include <gtest/gtest.h>

#include "live/keeper.hpp"

namespace berth::daemon {
namespace {

using journal::AttemptRow;

Instant at_second(int second) { return kStart + seconds(second); }

/// `end` and `note` as the journal has them; 0: none.
AttemptRow attempt_row(int number, int start, int end, const std::string& note = "") {
  AttemptRow row{.job = JobId(1), .attempt = Attempt(static_cast<std::uint32_t>(number))};
  row.granted = at_second(start);
  row.started = at_second(start);
  if (end > 0) row.end = journal::End{.at = at_second(end), .note = note};
  return row;
}
const std::string kKept(live::kSuspended);

TEST(LatestRun, IsThatOfAJobThatRanOnce) {
  const auto run = latest_run({attempt_row(1, 10, 25)}, at_second(25));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->started, at_second(10));
  EXPECT_EQ(run->ran, seconds(15));
  EXPECT_FALSE(latest_run({}, at_second(25)));
}

TEST(LatestRun, BeginsAgainWhereTheJobBeganAgain) {
  const auto run =
      latest_run({attempt_row(1, 10, 25, "preempted"), attempt_row(2, 40, 0)}, at_second(47));
  EXPECT_EQ(run->started, at_second(40));
  EXPECT_EQ(run->ran, seconds(7));
}

TEST(LatestRun, GoesOnOverSuspensions) {
  const std::vector<AttemptRow> rows = {attempt_row(1, 1, 5), attempt_row(2, 10, 25, kKept),
                                        attempt_row(3, 40, 45, kKept), attempt_row(4, 60, 61)};
  const auto run = latest_run(rows, at_second(61));
  EXPECT_EQ(run->started, at_second(10));
  EXPECT_EQ(run->ran, seconds(15 + 5 + 1));
}

/// Of one that was cancelled while it was suspended, too.
TEST(LatestRun, EndsWhereItsJobWasSuspendedForGood) {
  const auto run = latest_run({attempt_row(1, 10, 25, kKept)}, at_second(99));
  EXPECT_EQ(run->started, at_second(10));
  EXPECT_EQ(run->ran, seconds(15));
}

TEST(LatestRun, CountsTheWaitWhereAnOlderJournalDoesNotSayWhenItBegan) {
  const auto run = latest_run({attempt_row(1, 10, 0), attempt_row(2, 40, 45)}, at_second(45));
  EXPECT_EQ(run->started, at_second(10));
  EXPECT_EQ(run->ran, seconds(35));
}

TEST(LatestRun, PassesStartsThatFailed) {
  AttemptRow failed = attempt_row(2, 30, 0);
  failed.started = kNever;
  const auto resumed =
      latest_run({attempt_row(1, 10, 25, kKept), failed, attempt_row(3, 40, 45)}, at_second(45));
  EXPECT_EQ(resumed->started, at_second(10));
  EXPECT_EQ(resumed->ran, seconds(20));
  const auto again =
      latest_run({attempt_row(1, 10, 25), failed, attempt_row(3, 40, 45)}, at_second(45));
  EXPECT_EQ(again->started, at_second(40));
  EXPECT_EQ(again->ran, seconds(5));
}

}  // namespace
}  // namespace berth::daemon
