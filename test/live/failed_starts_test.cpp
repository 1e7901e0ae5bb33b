// Goal: a start that fails is tried again ever later. Method: the bookkeeping with made-up times.
#include "live/failed_starts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::live {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(WaitAfter, DoublesUpToHalfAMinute) {
  std::vector<std::int64_t> waits;
  for (std::int32_t failed = 1; failed <= 7; ++failed) {
    waits.push_back(wait_after(failed) / seconds(1));
  }
  EXPECT_THAT(waits, ElementsAre(1, 2, 4, 8, 16, 30, 30));
  Duration all{0};
  for (std::int32_t failed = 1; failed < kMostFailedStarts; ++failed) all += wait_after(failed);
  EXPECT_GE(all, minutes(9));
  EXPECT_LE(all, minutes(11));
}

TEST(FailedStart, SaysWhyWhichTryAndWhenTheNextIs) {
  EXPECT_EQ(failed_start_text("/x: No space left on device", 3, seconds(4)),
            "could not be started: /x: No space left on device (try 3 of 24, the next 4 s later)");
  EXPECT_EQ(failed_start_text("/x: gone", kMostFailedStarts, seconds(30)),
            "could not be started: /x: gone (try 24 of 24)");
}

TEST(FailedStartsWait, UntilTheyAreDue) {
  FailedStarts starts;
  EXPECT_EQ(starts.next(), std::nullopt);
  starts.add(JobId(1), Attempt(4), kStart + seconds(9));
  starts.add(JobId(2), Attempt(1), kStart + seconds(5));
  EXPECT_EQ(starts.next(), kStart + seconds(5));
  EXPECT_THAT(starts.take_due(kStart + seconds(4)), IsEmpty());
  EXPECT_THAT(starts.take_due(kStart + seconds(5)), ElementsAre(Pair(JobId(2), Attempt(1))));
  EXPECT_EQ(starts.take(JobId(2)), std::nullopt);
  EXPECT_EQ(starts.take(JobId(1)), Attempt(4));
  EXPECT_EQ(starts.next(), std::nullopt);
}

}  // namespace
}  // namespace berth::live
