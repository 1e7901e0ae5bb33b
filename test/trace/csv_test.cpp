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

/// The rows of a text, with a bar between fields.
std::vector<std::string> rows_of(const std::string& text) {
  auto csv = Csv::open(text, "f.csv");
  if (!csv) return {csv.error().message};
  std::vector<std::string> rows;
  for (auto more = csv->next(); more && *more; more = csv->next()) {
    std::string row;
    for (std::size_t i = 0; i < csv->header().size(); ++i) {
      row += (i == 0 ? "" : "|") + std::string(csv->field(i));
    }
    rows.push_back(row);
  }
  return rows;
}

/// Excel writes semicolons where the decimals follow a comma, tabs as "Text", a mark of the
/// encoding, and a line for each row that was ever touched.
TEST(Csv, ATableFromASpreadsheetIsRead) {
  using testing::ElementsAre;
  EXPECT_THAT(rows_of("\xef\xbb\xbf"
                      "a;b\r\n1;\"x; y\"\r\n2;\"\"\r\n;\r\n;;\r\n"),
              ElementsAre("1|x; y", "2|"));
  EXPECT_THAT(rows_of("a\tb\n1\t\n\t2\n"), ElementsAre("1|", "|2"));
  EXPECT_THAT(rows_of("sep=;\r\na;b\r\n1;2\r\n"), ElementsAre("1|2"));
  EXPECT_THAT(rows_of("a,\"b;c\"\n1,2\n,,,\n"), ElementsAre("1|2"));
  EXPECT_THAT(rows_of("\"a,b\";c\n1;2\n"), ElementsAre("1|2"));
  EXPECT_EQ(Csv::open("sep=,\na,b\n", "f.csv")->column("c").error().message,
            "f.csv:2: no column 'c' in the header");
  EXPECT_EQ(Csv::open("\xff\xfe"
                      "a",
                      "f.csv")
                .error()
                .message,
            "f.csv: this is UTF-16; save it as CSV UTF-8");
  EXPECT_EQ(Csv::open("PK\x03\x04x", "f.xlsx").error().message,
            "f.xlsx: this is a workbook or another archive of zip; save its sheet as CSV UTF-8");
}

TEST(Csv, NumbersAreReadAsSpreadsheetsGroupThem) {
  const auto micros_of = [](const std::string& header, const std::string& value) {
    const std::string text = header + "\n" + value + "\n";
    auto csv = Csv::open(text, "f.csv");
    EXPECT_TRUE(csv->next().value_or(false)) << value;
    return micros(csv->duration(0).value_or(Duration(-1)));
  };
  for (const char* same : {"\"3,600\",", "3'600,", "3 600,",
                           "3\xc2\xa0"
                           "600,",
                           "3600,"}) {
    EXPECT_EQ(micros_of("a,b", same), 3'600'000'000) << same;
  }
  EXPECT_EQ(micros_of("a,b", "\"1,234,567.5\","), 1'234'567'500'000);
  for (const char* none :
       {"\"3,60\",", "\"3,6000\",", "\"3600,000\",", "\",600\",", "3 6,", "\"3,600,\","}) {
    EXPECT_EQ(micros_of("a,b", none), -1) << none;
  }
  EXPECT_EQ(micros_of("a;b", "3,600;"), 3'600'000) << "there it is before the decimals";
  EXPECT_EQ(micros_of("a;b", "3600;"), 3'600'000'000);
  EXPECT_EQ(micros_of("a;b", "3600.5;"), 3'600'500'000);
  EXPECT_EQ(micros_of("a;b", "1.234.567;"), 1'234'567'000'000);
  EXPECT_EQ(micros_of("a;b", "1.234,5;"), 1'234'500'000);
  for (const char* none : {"1,2,3;", "1.23,4;", "1.2.3;", "1,;"}) {
    EXPECT_EQ(micros_of("a;b", none), -1) << none;
  }
  EXPECT_EQ(micros_of("a\tb", "3,600\t"), -1) << "it may be either";
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
