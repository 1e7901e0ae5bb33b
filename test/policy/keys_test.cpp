// Goal: a value of a key is read as its type says, and a slip changes nothing.
// Method: one key of each type; texts, good and bad.
#include "policy/keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace berth {
namespace {

using testing::ElementsAre;

constexpr auto kEach = std::to_array<Key>({
    {"time", KeyType::Time, "5m", 0, kYear, "A time."},
    {"count", KeyType::Count, "4", 1, 64, "A count."},
    {"percent", KeyType::Percent, "75", 0, 100, "A percent."},
    {"factor", KeyType::Factor, "0.5", 0, 1'000'000, "A factor."},
    {"size", KeyType::Size, "2GiB", 0, std::int64_t{1} << 40, "A size."},
    {"service", KeyType::Service, "3250:7200", 1, 100'000'000, "A list."},
    {"cells", KeyType::Cells, "none", 1, 64, "Cells of users."},
});

TEST(PolicyKeys, HaveTheirDefaults) {
  const Keys keys(kEach);
  EXPECT_EQ(keys.time("time"), minutes(5));
  EXPECT_EQ(keys.number("count"), 4);
  EXPECT_EQ(keys.number("percent"), 75);
  EXPECT_EQ(keys.number("factor"), 500);
  EXPECT_EQ(keys.size("size"), Bytes(std::int64_t{2} << 30));
  EXPECT_THAT(keys.list("service"), ElementsAre(3250, 7200));
  EXPECT_THAT(keys.list("cells"), ElementsAre());
  EXPECT_TRUE(keys.has("time"));
  EXPECT_FALSE(keys.has("tim"));
}

TEST(PolicyKeys, TakeValuesOfTheirTypeAndRange) {
  Keys keys(kEach);
  EXPECT_TRUE(keys.set("time", "1:30:00"));
  EXPECT_EQ(keys.time("time"), minutes(90));
  EXPECT_TRUE(keys.set("time", "0"));
  EXPECT_EQ(keys.time("time"), Duration::zero());
  EXPECT_TRUE(keys.set("factor", "8"));
  EXPECT_EQ(keys.number("factor"), 8000);
  EXPECT_TRUE(keys.set("service", "1:2:100000000"));
  EXPECT_THAT(keys.list("service"), ElementsAre(1, 2, 100'000'000));
  EXPECT_TRUE(keys.set("cells", "1000/16/8:7/4"));
  EXPECT_THAT(keys.list("cells"), ElementsAre(1000, 16, 1000, 8, 7, 4));
  EXPECT_TRUE(keys.set("cells", "4294967295/64"));
  EXPECT_TRUE(keys.set("cells", "none"));
  EXPECT_THAT(keys.list("cells"), ElementsAre());
}

TEST(PolicyKeys, ASlipChangesNothing) {
  Keys keys(kEach);
  const auto refused = std::to_array<std::pair<const char*, const char*>>(
      {{"time", "366d"},     {"time", "-1m"},
       {"time", "soon"},     {"time", ""},
       {"count", "0"},       {"count", "65"},
       {"count", "1.5"},     {"count", "99999999999999999999"},
       {"percent", "101"},   {"factor", "1001"},
       {"factor", "x"},      {"size", "2TiB"},
       {"size", "1.5"},      {"service", ""},
       {"service", "0:1"},   {"service", "2:1"},
       {"service", "1:"},    {"service", "1:1"},
       {"cells", ""},        {"cells", "1"},
       {"cells", "1/"},      {"cells", "1/0"},
       {"cells", "1/65"},    {"cells", "1/4:"},
       {"cells", "1/4:1/4"}, {"cells", "4294967296/4"},
       {"cells", "ann/4"},   {"cells", "none:1/4"},
       {"other", "1"}});
  for (const auto& [name, value] : refused) {
    const auto done = keys.set(name, value);
    ASSERT_FALSE(done) << name << "=" << value;
    EXPECT_EQ(done.error().code, ErrorCode::InvalidArgument);
  }
  EXPECT_EQ(keys.time("time"), minutes(5));
  EXPECT_EQ(keys.number("count"), 4);
  EXPECT_THAT(keys.list("service"), ElementsAre(3250, 7200));
}

TEST(PolicyKeys, SayTheirRangeAsItIsWritten) {
  EXPECT_EQ(range_text(kEach[0]), "0 to 365d");
  EXPECT_EQ(range_text(kEach[3]), "0 to 1000");
  EXPECT_EQ(range_text(kEach[4]), "0 to 1TiB");
}

TEST(PolicyKeys, SayHowCellsAreWritten) {
  Keys keys(kEach);
  const auto done = keys.set("cells", "ann/4");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message,
            "cells=ann/4: must be none, or USER/GPUS... for each user, joined by ':', each user "
            "once, by number, with the GPUs of each of its cells, 1 to 64, such as "
            "1000/16/8:1001/4");
}

}  // namespace
}  // namespace berth
