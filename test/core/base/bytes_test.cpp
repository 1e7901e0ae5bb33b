// Goal: what is written is read back; what is cut or bent is refused and never read beyond.
// Method: round trips, every truncation, every overlong encoding that a reader might take.
#include "core/base/bytes.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/base/rng.hpp"

namespace berth {
namespace {

constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
constexpr auto kMax = std::numeric_limits<std::int64_t>::max();

std::string encoded(std::int64_t value) {
  ByteWriter writer;
  writer.integer(value);
  return writer.take();
}

TEST(Bytes, IntegersRoundTrip) {
  std::vector<std::int64_t> values = {0, 1, -1, 63, 64, -64, -65, kMin, kMin + 1, kMax, kMax - 1};
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) values.push_back(rng.between(kMin, kMax) >> rng.between(0, 63));
  ByteWriter writer;
  for (const std::int64_t value : values) writer.integer(value);
  ByteReader reader(writer.bytes());
  for (const std::int64_t value : values) EXPECT_EQ(reader.integer(), value);
  EXPECT_TRUE(reader.at_end());
  EXPECT_FALSE(reader.failed());
}

TEST(Bytes, SmallIntegersAreShort) {
  EXPECT_EQ(encoded(0).size(), 1U);
  EXPECT_EQ(encoded(-64).size(), 1U);
  EXPECT_EQ(encoded(64).size(), 2U);
  EXPECT_EQ(encoded(kMin).size(), 10U);
}

TEST(Bytes, TextsRoundTrip) {
  const std::vector<std::string> texts = {"", "a", std::string("\0\xff\n", 3),
                                          std::string(100'000, 'x')};
  ByteWriter writer;
  for (const std::string& text : texts) writer.text(text);
  ByteReader reader(writer.bytes());
  for (const std::string& text : texts) EXPECT_EQ(reader.text(), text);
  EXPECT_TRUE(reader.at_end());
}

TEST(Bytes, EveryTruncationFails) {
  ByteWriter writer;
  writer.integer(kMin);
  writer.text("some text");
  writer.integer(300);
  const std::string whole = writer.take();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ByteReader reader(std::string_view(whole).substr(0, size));
    reader.integer();
    reader.text();
    reader.integer();
    EXPECT_TRUE(reader.failed()) << size;
    EXPECT_TRUE(reader.at_end()) << size;
  }
}

TEST(Bytes, AfterAFailureOnlyZerosFollow) {
  ByteReader reader(
      std::string_view("\x05"
                       "ab",
                       3));
  EXPECT_EQ(reader.text(), "");
  EXPECT_TRUE(reader.failed());
  EXPECT_EQ(reader.integer(), 0);
  EXPECT_EQ(reader.text(), "");
}

TEST(Bytes, RefusesWhatNoWriterWrites) {
  const std::string endless(11, '\xff');
  ByteReader eleven(endless);
  eleven.integer();
  EXPECT_TRUE(eleven.failed());
  const std::string too_large = std::string(9, '\xff') + "\x02";
  ByteReader reader(too_large);
  reader.integer();
  EXPECT_TRUE(reader.failed());
  const std::string negative_length = encoded(-1);
  ByteReader text(negative_length);
  EXPECT_EQ(text.text(), "");
  EXPECT_TRUE(text.failed());
}

TEST(Bytes, RandomBytesNeverCrash) {
  Rng rng(2);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(static_cast<std::size_t>(rng.between(0, 40)), '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.between(0, 255));
    ByteReader reader(bytes);
    for (int n = 0; n < 50 && !reader.at_end(); ++n) {
      if (rng.one_in(2)) reader.integer();
      EXPECT_LE(reader.text().size(), bytes.size());
    }
  }
}

}  // namespace
}  // namespace berth
