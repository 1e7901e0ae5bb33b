// Goal: a bad file is refused with file, line, column, value and what was expected.
// Method: small texts, good and bad.
#include "trace/csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::trace {
namespace {

/// Error of reading column 1 of the first row with `read`.
template <class Read>
std::string objection(const std::string& value, Read read) {
  const std::string text = "a,b\nx," + value + "\n";
  auto csv = Csv::open(text, "f.csv");
  if (!csv || !csv->next()) return "no row";
  const auto result = read(*csv);
  return result ? "none" : result.error().message;
}
std::string not_an_integer(const std::string& value) {
  return objection(value, [](const Csv& csv) { return csv.integer(1, -5, 5); });
}
std::string not_a_duration(const std::string& value) {
  return objection(value, [](const Csv& csv) { return csv.duration(1); });
}

TEST(Csv, ReadsRowsByColumnName) {
  auto csv = Csv::open(" a , b\r\n\r\n1, x y \r\n\n2,\n", "f.csv");
  ASSERT_TRUE(csv);
  EXPECT_EQ(csv->column("b").value_or(9), 1U);
  EXPECT_TRUE(csv->next().value_or(false));
  EXPECT_EQ(csv->field(0), "1");
  EXPECT_EQ(csv->field(1), "x y");
  EXPECT_TRUE(csv->next().value_or(false));
  EXPECT_EQ(csv->field(1), "");
  EXPECT_FALSE(csv->next().value_or(true));
}

TEST(Csv, NamesWhatTheHeaderLacks) {
  EXPECT_EQ(Csv::open("", "f.csv").error().message, "f.csv: empty, expected a header line");
  EXPECT_EQ(Csv::open(" \n\r\n", "f.csv").error().message, "f.csv: empty, expected a header line");
  EXPECT_EQ(Csv::open("a,b\n", "f.csv")->column("c").error().message,
            "f.csv:1: no column 'c' in the header");
}

TEST(Csv, AColumnIsInTheHeaderOnce) {
  EXPECT_EQ(Csv::open("\n a,b, a\n", "f.csv").error().message,
            "f.csv:2: column 'a' is in the header twice");
  EXPECT_TRUE(Csv::open(",a,\n", "f.csv")) << "columns without a name are never looked for";
}

TEST(Csv, ACarriageReturnAloneEndsNoLine) {
  const std::string why = "a carriage return inside the line; lines must end in LF or CR LF";
  EXPECT_EQ(Csv::open("a,b\r1,2\r", "f.csv").error().message, "f.csv:1: " + why);
  auto csv = Csv::open("a,b\r\r\n1,2\r3,4\n5,6\r\n", "f.csv");
  ASSERT_TRUE(csv) << csv.error().message;
  EXPECT_EQ(csv->next().error().message, "f.csv:2: " + why);
  EXPECT_TRUE(csv->next().value_or(false)) << "the row after it can still be read";
  auto comment =
      Csv::open("; c\r1 2\r", "f.swf", {.separator = ' ', .comment = ';', .header = {"a"}});
  EXPECT_EQ(comment->next().error().message, "f.swf:1: " + why);
}

TEST(Csv, MessagesShowTheBeginningOfAValueAndNoControls) {
  EXPECT_EQ(
      not_an_integer(std::string(1'000'000, 'x')),
      "f.csv:2: column 'b': '" + std::string(60, 'x') + "...', expected an integer from -5 to 5");
  EXPECT_EQ(not_an_integer(std::string("\x1b[2J\0\xc3\xa9", 7)),
            "f.csv:2: column 'b': '\\x1b[2J\\x00\\xc3\\xa9', expected an integer from -5 to 5");
  EXPECT_EQ(shown(std::string(60, 'x')), std::string(60, 'x'));
  EXPECT_EQ(shown("a\x7f"), "a\\x7f");
}

TEST(Csv, CountsFieldsAndLines) {
  auto csv = Csv::open("a,b\n\n1,2\n1,2,3\n", "f.csv");
  EXPECT_TRUE(csv->next().value_or(false));
  const auto row = csv->next();
  ASSERT_FALSE(row);
  EXPECT_EQ(row.error().message, "f.csv:4: 3 fields, expected 2");
  EXPECT_EQ(row.error().code, ErrorCode::BadData);
}

/// Spreadsheets and pandas put what has a comma or a quote in it into quotes, and some all.
TEST(Csv, AFieldMayStandInQuotes) {
  const std::string_view text =
      "\"a\",\"b, c\"\n\"1\" ,\"x, \"\"y\"\"\"\n2, \"\" \n3,it's \"so\"\n";
  auto csv = Csv::open(text, "f.csv");
  ASSERT_TRUE(csv) << csv.error().message;
  EXPECT_EQ(*csv->column("b, c"), 1U);
  std::vector<std::string> found;
  while (csv->next().value()) found.emplace_back(csv->field(1));
  EXPECT_THAT(found, testing::ElementsAre("x, \"y\"", "", "it's \"so\""));
  for (const char* bad : {"\"1,2", "\"1\"2,3", "\"1\"\",2"}) {
    const std::string lines = std::string("a,b\n") + bad + "\n";  // it outlives the reader
    auto broken = Csv::open(lines, "f.csv");
    const auto row = broken->next();
    ASSERT_FALSE(row) << bad;
    EXPECT_EQ(row.error().message,
              "f.csv:2: '" + std::string(bad) + "', expected a quote at the end of the field too");
  }
  auto bars = Csv::open("a|b\n\"1|2\n", "f.csv", {.separator = '|'});
  ASSERT_TRUE(bars->next().value_or(false));
  EXPECT_EQ(bars->field(0), "\"1") << "sacct quotes nothing";
}

TEST(Csv, IntegersAreWholeAndInRange) {
  for (const char* good : {"0", "5", "-5", "1.0", "1e0", "5e+00", "0.5E1", "50e-1"})
    EXPECT_EQ(not_an_integer(good), "none") << good;
  for (const char* bad : {"", "6", "-6", "1.5", "1.0x", ".0", "1e1", "1e-1", "1e", "e1", "1e+-1",
                          "1e99", "1e1e1", "nan", "0x1", "+1", "1 2", "9223372036854775808"}) {
    EXPECT_EQ(not_an_integer(bad),
              "f.csv:2: column 'b': '" + std::string(bad) + "', expected an integer from -5 to 5");
  }
}

TEST(Csv, DurationsAreNonNegativeSeconds) {
  for (const char* good : {"0", "0.0", "3162240000", "1.1234567", "1.", "1.7e9", "1e-05"}) {
    EXPECT_EQ(not_a_duration(good), "none") << good;
  }
  for (const char* bad :
       {"", "-1", "-0.5", "-0", "1e10", "-1e3", "nan", "inf", "3162240001", ".5", "1.x"}) {
    EXPECT_EQ(not_a_duration(bad), "f.csv:2: column 'b': '" + std::string(bad) +
                                       "', expected seconds from 0 to 3162240000");
  }
}

TEST(Csv, DurationsAreExactToTheMicrosecond) {
  auto csv = Csv::open("a\n12.000001\n0.1234569\n7.5\n1.25e+03\n1.5e-05\n", "f.csv");
  for (const std::int64_t expected :
       {12'000'001LL, 123'456LL, 7'500'000LL, 1'250'000'000LL, 15LL}) {
    ASSERT_TRUE(csv->next().value_or(false));
    EXPECT_EQ(csv->duration(0).value_or(Duration(-1)), Duration(expected));
  }
}

}  // namespace
}  // namespace berth::trace
