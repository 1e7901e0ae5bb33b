// Goal: who reads of a reservation or a drain knows in which zone its times are.
// Method: the texts, in whatever zone the test runs.
#include "daemon/answers/reservations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::daemon {
namespace {

using testing::MatchesRegex;

constexpr const char* kTime = "[0-9]+-[0-9]+-[0-9]+ [0-9]+:[0-9]+ [-+][0-9][0-9][0-9][0-9]";

TEST(ReservationTexts, NameTheZoneOfTheirTimes) {
  const Instant now = kStart + hours(24 * 365);
  const std::string time = kTime;
  const Reservation tonight{.from = now + hours(1), .until = now + hours(9)};
  EXPECT_THAT(shown_as({"alice", "@lab"}, tonight, now),
              MatchesRegex("alice, @lab from " + time + " until " + time));
  EXPECT_THAT(shown_as({"alice"}, {.from = now, .until = now + hours(1)}, now),
              MatchesRegex("alice until " + time));
  EXPECT_THAT(drained_as("bob", now + hours(48)), MatchesRegex("bob until " + time));
  EXPECT_EQ(drained_as("bob", kNever), "bob");
}

}  // namespace
}  // namespace berth::daemon
