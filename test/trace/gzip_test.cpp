// Goal: packed files are read whole and as written, and a bad one is refused in words.
// Method: texts packed here, whole, in two members, cut and bent.
#include "trace/gzip.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

namespace berth::trace {
namespace {

std::string packed(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// Longer than the buffers inside, and not of one letter.
std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 200'000; ++i) text += "row " + std::to_string(i * i) + "\n";
  return text;
}

std::string gzip_error(std::string bytes, const std::string& file = "t.csv.gz") {
  const auto text = unpacked(std::move(bytes), file);
  return text ? "none" : text.error().message;
}

TEST(Gzip, PlainTextStaysAsItIs) {
  EXPECT_EQ(*unpacked("a,b\n1,2\n", "t.csv"), "a,b\n1,2\n");
  EXPECT_EQ(*unpacked("", "t.csv"), "");
}

TEST(Gzip, UnpacksWhateverTheNameIs) {
  const std::string text = long_text();
  EXPECT_EQ(*unpacked(packed(text), "t.csv.gz"), text);
  EXPECT_EQ(*unpacked(packed(text), "t.csv"), text);
  EXPECT_EQ(*unpacked(packed(""), "t.csv"), "");
}

TEST(Gzip, ReadsEveryMember) {
  EXPECT_EQ(*unpacked(packed("one\n") + packed("") + packed("two\n"), "t"), "one\ntwo\n");
}

TEST(Gzip, NamesWhatIsWrong) {
  const std::string whole = packed(long_text());
  EXPECT_EQ(gzip_error("job_id\n"), "t.csv.gz: is named .gz, but is not gzip data");
  EXPECT_EQ(gzip_error(""), "t.csv.gz: is named .gz, but is not gzip data");
  EXPECT_EQ(gzip_error(whole.substr(0, 2)), "t.csv.gz: the gzip data is cut short");
  EXPECT_EQ(gzip_error(whole.substr(0, whole.size() / 2)), "t.csv.gz: the gzip data is cut short");
  EXPECT_EQ(gzip_error(whole.substr(0, whole.size() - 1)), "t.csv.gz: the gzip data is cut short");
  EXPECT_EQ(gzip_error(whole + "abc"), "t.csv.gz: 3 bytes after the end of the gzip data");
}

TEST(Gzip, FindsABitThatFlipped) {
  std::string bent = packed(long_text());
  bent[bent.size() - 6] = static_cast<char>(bent[bent.size() - 6] ^ 1);  // in the checksum
  EXPECT_EQ(gzip_error(bent), "t.csv.gz: the gzip data is damaged: incorrect data check");
}

TEST(Gzip, RefusesMoreTextThanTheMost) {
  const std::string bomb = packed(std::string(1'000'000, 'x'));
  EXPECT_LT(bomb.size(), 2'000U);
  const auto text = unpacked(bomb, "t", 999'999);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message, "t: more than 999999 bytes of text");
  EXPECT_TRUE(unpacked(bomb, "t", 1'000'000));
  EXPECT_EQ(unpacked("12345", "t", 4).error().message, "t: 5 bytes, the most is 4");
}

}  // namespace
}  // namespace berth::trace
