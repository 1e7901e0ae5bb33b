// Goal: a time that berthd tells is shown on the clock of who reads it.
// Method: texts with times in several zones; the same instant by this process's own clock.
#include "cli/tell/own_zone.hpp"

#include <gtest/gtest.h>

#include <array>
#include <ctime>

namespace berth::cli {
namespace {

constexpr std::time_t kThen = 1'796'065'209;  // 2026-11-30 19:00:09 UTC

std::string here(const char* form) {
  std::tm parts{};
  localtime_r(&kThen, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), form, &parts);
  return text.data();
}

TEST(OwnZone, ATimeIsTheSameInstantOnTheClockOfHere) {
  for (const char* time : {"2026-11-30 19:00:09 +0000", "2026-11-30 20:00:09 +0100",
                           "2026-11-30 13:30:09 -0530", "2026-12-01 00:45:09 +0545"}) {
    const std::string text = std::string("waits until ") + time + "; then for job 7";
    EXPECT_EQ(in_own_zone(text, kThen - 3600.0),
              "waits until " + here("%H:%M:%S") + "; then for job 7");
    EXPECT_EQ(in_own_zone(text, kThen - 86400.0),
              "waits until " + here("%Y-%m-%d %H:%M:%S") + "; then for job 7");
  }
  EXPECT_EQ(in_own_zone("ann from 2026-11-30 19:00 +0000 until 2026-11-30 19:00 +0000", kThen),
            "ann from " + here("%H:%M") + " until " + here("%H:%M"));
}

TEST(OwnZone, OtherTextStaysAsItIs) {
  for (const char* text :
       {"", "2026-11-30", "until 18:00 CET", "2026-11-30 19:00:09", "2026-11-30 19:00 UTC",
        "2026-11-30 19:00 +01", "until 2026-11-30 19:00 *0000", "x 2026-11-30 19:0"}) {
    EXPECT_EQ(in_own_zone(text, kThen), text);
  }
}

}  // namespace
}  // namespace berth::cli
