// Goal: times of the calendar are read with and without a zone, and by a form of one's own.
// Method: texts of one instant, and texts that are none.
#include "trace/calendar.hpp"

#include <gtest/gtest.h>

#include <string>

namespace berth::trace {
namespace {

const Instant kNoon = *calendar_instant("2024-02-29 12:00:00");

TEST(Calendar, AnInstantIsWrittenInManyWays) {
  EXPECT_EQ(kNoon - kStart, seconds(1'709'208'000));
  for (const char* text :
       {"2024-02-29T12:00:00", "2024-02-29 12:00:00Z", "2024-02-29T12:00:00+00:00",
        "2024-02-29 20:00:00+08:00", "2024-02-29 20:00:00+0800", "2024-02-29T20:00:00+08",
        "2024-02-29 08:30:00-03:30", "2024-02-29 12:00:00.000000", "2024-02-29 12:00:00 UTC",
        "2024-02-29 20:00:00.000 +08:00", "2024-02-29 12:00", "2024-02-29T12:00Z"}) {
    EXPECT_EQ(calendar_instant(text), kNoon) << text;
  }
  EXPECT_EQ(calendar_instant("2024-02-29T12:00:00.25Z"), kNoon + Duration(250'000));
}

TEST(Calendar, OtherTextsAreNoTimes) {
  for (const char* text :
       {"", "2024-02-30 12:00:00", "2024-02-29", "2024-02-29 24:00:00", "2024-02-29 12:60:00",
        "2024-02-29 12:00:00 PST", "2024-02-29 12:00:00+8", "2024-02-29 12:00:00+24:00",
        "2024-02-29 12:00:00+08:00x", "2024/02/29 12:00:00", "2024-02-29 12:00:0",
        "2024-02-29 12:", "2024-02-29 12:00.5", "2024-02-29 12:00:", "2024-02-29 25:00"}) {
    EXPECT_EQ(calendar_instant(text), std::nullopt) << text;
  }
}

TEST(Calendar, AZoneIsSaidOrNot) {
  EXPECT_TRUE(has_zone("2024-02-29 20:00:00+08:00"));
  EXPECT_TRUE(has_zone("2024-02-29 20:00:00.5Z"));
  EXPECT_FALSE(has_zone("2024-02-29 20:00:00.5"));
  EXPECT_TRUE(has_zone("2024-02-29T20:00Z"));
  EXPECT_FALSE(has_zone("2024-02-29 20:00"));
  EXPECT_FALSE(has_zone(""));
}

TEST(Calendar, AFormOfOnesOwnIsOfStrptime) {
  EXPECT_EQ(instant_by_format("29.02.2024 12:00", "%d.%m.%Y %H:%M"), kNoon);
  EXPECT_EQ(instant_by_format("29.02.2024 20:00 +0800", "%d.%m.%Y %H:%M %z"), kNoon);
  EXPECT_EQ(instant_by_format("2024-02-29 12:00:00.5", "%Y-%m-%d %H:%M:%S"),
            kNoon + Duration(500'000));
  EXPECT_EQ(instant_by_format("1709208000", "%s"), kNoon);
  EXPECT_EQ(instant_by_format("29.02.2024", "%d.%m.%Y %H:%M"), std::nullopt);
  EXPECT_EQ(instant_by_format("29.02.2024 12:00 noon", "%d.%m.%Y %H:%M"), std::nullopt);
  EXPECT_EQ(instant_by_format("12:00", "%H:%M"), std::nullopt) << "it says no day";
}

}  // namespace
}  // namespace berth::trace
