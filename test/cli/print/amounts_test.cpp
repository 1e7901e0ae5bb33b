// Goal: amounts mean what people type, and nonsense is refused. Method: tables of text and value.
#include "cli/print/amounts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace berth::cli {
namespace {

using testing::HasSubstr;

TEST(Size, IsInPowersOf1024) {
  const std::vector<std::pair<std::string, std::int64_t>> sizes = {
      {"1b", 1},
      {"1048576", 1048576},
      {"17b", 17},
      {"3K", 3 << 10},
      {"512M", std::int64_t{512} << 20},
      {"10G", std::int64_t{10} << 30},
      {"10GiB", std::int64_t{10} << 30},
      {"10GB", std::int64_t{10} << 30},
      {"7.5 GiB", std::int64_t{15} << 29},
      {"10gib", std::int64_t{10} << 30},
      {"1.5g", std::int64_t{3} << 29},
      {"0.001G", 1073741},
      {"1T", std::int64_t{1} << 40},
      {"0.999999999T", 1099511626676},
      {"1024T", std::int64_t{1} << 50},
  };
  for (const auto& [text, bytes] : sizes) {
    const auto size = parse_size(text);
    ASSERT_TRUE(size) << text;
    EXPECT_EQ(size->raw(), bytes) << text;
  }
}

TEST(Size, RefusesNonsense) {
  for (const char* text : {"",
                           "0",
                           "0G",
                           "-1",
                           "-5G",
                           "+5G",
                           " 5G",
                           "5 G ",
                           "1e99G",
                           "G",
                           ".5G",
                           "1.G",
                           "1..5G",
                           "5Bi",
                           "5GBs",
                           "5GiBs",
                           "5G5",
                           "5G 5M",
                           "5P",
                           "1.5",
                           "1025T",
                           "9223372036854775807T",
                           "99999999999999999999",
                           "0x10",
                           "max",
                           "1.0000000001G",
                           "nan",
                           "inf"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_THAT(size.error().message, HasSubstr("from 1 byte to 1024T"));
  }
}

TEST(Size, WithoutAUnitIsAtLeastAMebibyte) {
  const std::vector<std::pair<std::string, std::string>> hints = {
      {"10", "is 10 bytes; say 10G or 10M"},
      {"80", "is 80 bytes; say 80G or 80M"},
      {"16384", "is 16384 bytes; say 16384M or 16384K"},
      {"1048575", "is 1048575 bytes; say 1048575M or 1048575K"},
  };
  for (const auto& [text, hint] : hints) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().message, hint);
  }
}

TEST(Durations, TakeUnitsAndClockTimes) {
  const std::vector<std::pair<std::string, double>> durations = {
      {"90", 90},
      {"90s", 90},
      {"1.5m", 90},
      {"15m", 900},
      {"4h", 14400},
      {"2d", 172800},
      {"1:30:00", 5400},
      {"15:00", 900},
      {"100:00", 6000},
      {"0.5", 0.5},
      {"3650d", 315360000},
      {"0.000001s", 0.000001},
      {"4H", 14400},
      {"30min", 1800},
      {"1h30m", 5400},
      {"12m05s", 725},
      {"2d04h", 187200},
      {"2d 4h", 187200},
      {"1 hour 30 minutes", 5400},
      {"2:30", 150},
      {"1-00:00:00", 86400},
      {"1-12", 129600},
      {"0-1:30", 5400},
      {"1-0:0:1", 86401},
      {"1w", 604800},
      {"1.5h30s", 5430},
      {"250ms", 0.25},
      {"3650-0", 315360000},
  };
  for (const auto& [text, seconds] : durations) {
    const auto duration = parse_duration(text);
    ASSERT_TRUE(duration) << text;
    EXPECT_DOUBLE_EQ(static_cast<double>(micros(*duration)) / 1e6, seconds) << text;
  }
}

TEST(Durations, RefuseNonsense) {
  for (const char* text : {"",          "0",       "0:00",       "-1",
                           "1:60",      "1:2:3:4", ":30",        "1:",
                           "1h30",      "1y",      "3651d",      "30m1h",
                           "1h1h",      "1h ",     " 1h",        "h",
                           "1-",        "-1:00",   "1-24",       "1-2:60",
                           "1-2:3:4:5", "3651-0",  "3650d1s",    "3650-00:00:01",
                           "1-1d",      "1e3",     "0.0000001s", "99999999999999999999d",
                           "1:-1"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Counts, HaveALimit) {
  EXPECT_EQ(parse_count("0", 8), 0);
  EXPECT_EQ(parse_count("8", 8), 8);
  for (const char* text : {"9", "-1", "1.5", "", "eight", "8 "}) {
    const auto count = parse_count(text, 8);
    ASSERT_FALSE(count) << text;
    EXPECT_EQ(count.error().message, "is not a whole number from 0 to 8");
  }
}

TEST(Cores, AreCountedInThousandths) {
  EXPECT_EQ(parse_cores("0.5"), CpuMilli(500));
  EXPECT_EQ(parse_cores("16"), CpuMilli(16000));
  for (const char* text : {"0", "0.0001", "-1", "100001", "two", "1e3"}) {
    EXPECT_FALSE(parse_cores(text)) << text;
  }
}

TEST(ElapsedTime, HasTwoPlaces) {
  EXPECT_EQ(elapsed_text(-5), "0s");
  EXPECT_EQ(elapsed_text(59.9), "59s");
  EXPECT_EQ(elapsed_text(725), "12m05s");
  EXPECT_EQ(elapsed_text(4.5 * 3600), "4h30m");
  EXPECT_EQ(elapsed_text(2 * 86400 + 4 * 3600), "2d04h");
  EXPECT_EQ(elapsed_text(1e300), "11574074074d01h");
}

TEST(Utf8, IsWellFormed) {
  for (const char* text : {"", "plain", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                           "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (const char* text : {"\xFF", "\x80", "\xC3", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80",
                           "\xF4\x90\x80\x80", "\xF0\x80\x80\x80", "a\xC3(", "\xE2\x82"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

}  // namespace
}  // namespace berth::cli
