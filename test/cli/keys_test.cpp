// Goal: keys of policies reach them, and slips are named.
// Method: texts, good and bad; who reads which.
#include "cli/keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace berth::cli {
namespace {

using testing::HasSubstr;

TEST(Keys, AreReadAsWritten) {
  const auto keys = parse_keys("half_life=1d,ageing=0s,reservations=2");
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(keys->settings.service_half_life, hours(24));
  EXPECT_EQ(keys->settings.headroom.ageing, Duration::zero());
  EXPECT_EQ(keys->settings.headroom.reservations, 2);
  EXPECT_EQ(keys->settings.headroom.lend, HeadroomKeys{}.lend) << "as it was";
  EXPECT_EQ(parse_keys("")->settings, Settings{});
}

TEST(Keys, SlipsAreNamed) {
  EXPECT_THAT(parse_keys("quantums=1m").error().message,
              HasSubstr("no policy has the key 'quantums'; there are: half_life, short_bound, "));
  EXPECT_THAT(parse_keys("5m").error().message, HasSubstr("no policy has the key ''"));
  EXPECT_THAT(parse_keys("lend=1m,lend=2m").error().message, HasSubstr("twice"));
  EXPECT_THAT(parse_keys("=1m").error().message, HasSubstr("is not KEY=VALUE with commas"));
  EXPECT_THAT(parse_keys("short_bound=9h").error().message, HasSubstr("out of range"));
  for (const char* bad :
       {"lend=nan", "lend=-1m", "lend=", "reservations=0", "reservations=99999999999",
        "share_below_percent=101", "half_life=0", "lend=inf"}) {
    const auto keys = parse_keys(bad);
    ASSERT_FALSE(keys) << bad;
    EXPECT_EQ(keys.error().message.find("--keys: '" + std::string(bad) + "': "), 0U)
        << keys.error().message;
  }
}

TEST(Keys, ThatNobodyReadsAreRefused) {
  const std::array<std::string, 2> some = {"fifo", "dlas"};
  EXPECT_EQ(check_read(*parse_keys("lend=1m"), some).error().message,
            "--keys: 'lend' would change nothing; it is a key of: headroom");
  EXPECT_TRUE(check_read(*parse_keys("half_life=1d"), std::array<std::string, 1>{"fair-share"}));
}

}  // namespace
}  // namespace berth::cli
