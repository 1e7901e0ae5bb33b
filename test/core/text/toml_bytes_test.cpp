// Goal: where a configuration holds more than ASCII it is let through, everywhere else it is named.
// Method: small texts, one per place where a letter may stand.
#include "core/text/toml_bytes.hpp"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

std::string refusal(std::string_view text) {
  const auto checked = check_toml_bytes(text, "F");
  return checked ? "" : checked.error().message;
}

std::string at(const std::string& place) {
  return "F:" + place + ": more than ASCII may stand in comments and in lines like KEY = \"TEXT\"";
}

TEST(TomlBytes, AsciiIsForTheParser) {
  EXPECT_EQ(refusal(""), "");
  EXPECT_EQ(refusal("a = 1\n[b]\nc = [\"\\\"\", '''\n''']\n= ="), "");
}

TEST(TomlBytes, TextsAndCommentsMayHoldAnything) {
  EXPECT_EQ(refusal("  # gr\xc3\xbc\xc3\x9f\r\na = 1"), "");
  EXPECT_EQ(refusal("\ta.b-c_2 = \"\xc3\xa9\"\r\nb='\xc3\xa9' # \xff"), "");
  EXPECT_EQ(refusal("a = '\"\xc3\xa9'\n\na = \"'\xc3\xa9#\""), "");
}

TEST(TomlBytes, ElsewhereTheyAreNamedByTheirPlace) {
  EXPECT_EQ(refusal("\xc3\xa9 = 1"), at("1:1"));
  EXPECT_EQ(refusal("a = 1\nb = \xc2\xa0 1"), at("2:5"));
  EXPECT_EQ(refusal("a = \"b\" \xe3\x81\x82"), at("1:9"));
  EXPECT_EQ(refusal("a = 1 # \xff"), at("1:9"));
  EXPECT_EQ(refusal("= '\xc3\xa9'"), at("1:4"));
  EXPECT_EQ(refusal("a = 38h'=')\xef\xbb\xbe'"), at("1:12"));
  EXPECT_EQ(refusal("a = \"\xc3\xa9"), at("1:6"));
  EXPECT_EQ(refusal("a = \"\\\"\xc3\xa9\""), at("1:8"));
}

// What follows a line's end in them is looked up as a blank, too.
TEST(TomlBytes, BesideTextsOfSeveralLinesNothingDoes) {
  EXPECT_EQ(refusal("a = \"\"\"b\\\n\xeb\xbb\xbf\"\"\""), at("2:1"));
  EXPECT_EQ(refusal("a = '''b\n# \xc3\xa9'''"), at("2:3"));
}

}  // namespace
}  // namespace berth
