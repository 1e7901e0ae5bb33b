// Goal: who reads of a reservation or a drain knows in which zone its times are.
// Method: the texts, in whatever zone the test runs.
#include "daemon/answers/reservations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::daemon {
namespace {

using testing::MatchesRegex;

TEST(ReservationTexts, NameTheZoneOfTheirTimes) {
  const Instant now = kStart + hours(24 * 365);
  const Reservation tonight{.from = now + hours(1), .until = now + hours(9)};
  EXPECT_THAT(shown_as({"alice", "@lab"}, tonight, now),
              MatchesRegex("alice, @lab from [0-9]+:[0-9]+ until [0-9]+:[0-9]+ [-+A-Z0-9]+"));
  EXPECT_THAT(drained_as("bob", now + hours(48), now),
              MatchesRegex("bob until [0-9]+-[0-9]+-[0-9]+ [0-9]+:[0-9]+ [-+A-Z0-9]+"));
  EXPECT_EQ(drained_as("bob", kNever, now), "bob");
}

}  // namespace
}  // namespace berth::daemon
