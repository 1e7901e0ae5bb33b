// Goal: requests mean the same whichever parser reads them. Method: texts that are plain, and what
// becomes of them when each of their bytes is changed, dropped or doubled, read by parse_object()
// and by the library alone.
#include "daemon/loop/plain_json.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/requests/request_json.hpp"

namespace berth::daemon {
namespace {

const std::vector<std::string> kTexts = {
    R"({"command":["python","train.py"],"directory":"/tmp","gpus":2,"exclusive":true})",
    R"( { "a" : [ 1 , 0 , null , false , { } , [ ] ] ,
         "b" : { "c" : 123456789012345678 } } )",
    R"({"e":"","f":[[],[{"g":"~ !"}]]})", R"({})"};

PlainRead plainly(const std::string& text) {
  struct Deaf : nlohmann::json_sax<Json> {
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override { return true; }
    bool key(string_t&) override { return true; }
    bool end_object() override { return true; }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
      return false;
    }
  } reader;
  return read_plain_json(text, reader);
}

/// Both agree on whether it is JSON, and what it says. A key that stands twice is refused here.
void compare(const std::string& text) {
  const auto read = parse_object(text);
  const Json reference = Json::parse(text, nullptr, false);
  if (plainly(text) == PlainRead::Whole) {
    EXPECT_FALSE(reference.is_discarded()) << text;
  }
  if (read) {
    EXPECT_EQ(*read, reference) << text;
  } else if (!read.error().message.ends_with("is there twice")) {
    EXPECT_FALSE(reference.is_object()) << text << ": " << read.error().message;
  }
}

TEST(PlainJson, ReadsWhatMostRequestsAreMadeOf) {
  for (const std::string& text : kTexts) {
    EXPECT_EQ(plainly(text), PlainRead::Whole) << text;
    compare(text);
  }
}

TEST(PlainJson, LeavesTheRestToTheLibrary) {
  for (const char* const text :
       {R"({"a":"\n"})", "{\"a\":\"\xc3\xa9\"}", R"({"a":-1})", R"({"a":1.5})", R"({"a":1e3})",
        R"({"a":01})", R"({"a":1234567890123456789})", R"({"a":1)", R"({"a":1}})", R"({"a" 1})",
        R"({a:1})", R"({"a":tru})", R"({"a":"b)", "", "[1,]", "[1 2]", "\xef\xbb\xbf{}"}) {
    EXPECT_EQ(plainly(text), PlainRead::Other) << text;
    compare(text);
  }
}

TEST(PlainJson, AgreesWithTheLibraryOnEveryTextThatDiffersInAByte) {
  constexpr std::string_view kOthers = "\"\\{}[],: 09-.etn\x01\x7f\xc3";
  for (const std::string& text : kTexts) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      compare(text.substr(0, i) + text.substr(i + 1));
      compare(text.substr(0, i) + text[i] + text.substr(i));
      for (const char other : kOthers) {
        std::string changed = text;
        changed[i] = other;
        compare(changed);
      }
    }
  }
}

TEST(PlainJson, IsStoppedByItsReader) {
  EXPECT_EQ(parse_object(R"({"a":1,"a":2})").error().message, "a: is there twice");
  const std::string deep(12, '[');
  EXPECT_EQ(parse_object("{\"a\":" + deep).error().message,
            "the request is nested deeper than 8 levels");
}

}  // namespace
}  // namespace berth::daemon
