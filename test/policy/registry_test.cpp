// Goal: what is registered can be made, and what is not is refused with the names there are.
// Method: makes everything with everything.
#include "policy/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace berth {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Registry, MakesEveryPolicyWithEveryPlacement) {
  for (const PolicyEntry& policy : policies()) {
    for (const PlacerEntry& placer : placers()) {
      const auto made = make_policy(policy.name, placer.name);
      ASSERT_TRUE(made) << policy.name << " with " << placer.name;
      EXPECT_NE(*made, nullptr);
    }
  }
}

TEST(Registry, EveryPolicyNamesAPlacementItGoesWith) {
  for (const PolicyEntry& policy : policies()) EXPECT_TRUE(make_policy(policy.name, ""));
}

TEST(Registry, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const PolicyEntry& entry : policies()) EXPECT_TRUE(names.insert(entry.name).second);
  names.clear();
  for (const PlacerEntry& entry : placers()) EXPECT_TRUE(names.insert(entry.name).second);
}

TEST(Registry, APolicyIsAnOrderOrAWhole) {
  for (const PolicyEntry& entry : policies()) {
    EXPECT_NE(entry.order == nullptr, entry.whole == nullptr) << entry.name;
  }
}

TEST(Registry, RefusesAnUnknownPolicyWithTheNamesThereAre) {
  const auto made = make_policy("fcfs", "count");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::NotFound);
  EXPECT_THAT(made.error().message,
              StartsWith("policy 'fcfs' is not known; there are: headroom, fifo, "));
  for (const PolicyEntry& entry : policies()) {
    EXPECT_THAT(made.error().message, HasSubstr(std::string(entry.name)));
  }
}

TEST(Registry, RefusesAnUnknownPlacementToo) {
  const auto made = make_policy("fifo", "anywhere");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::NotFound);
  EXPECT_THAT(made.error().message, StartsWith("placement 'anywhere' is not known; there are: "));
  for (const PlacerEntry& entry : placers()) {
    EXPECT_THAT(made.error().message, HasSubstr(std::string(entry.name)));
  }
}

TEST(Registry, APlacementThatAPolicyIgnoresIsRefused) {
  EXPECT_TRUE(check_place("fifo", "yarn"));
  EXPECT_TRUE(check_place("carma", ""));
  EXPECT_TRUE(check_place("tiresias/dlas-gpu", "count"));
  for (const char* policy : {"carma", "capacity", "tiresias/dlas", "tiresias/dlas-gpu-8"}) {
    const auto checked = check_place(policy, "yarn");
    ASSERT_FALSE(checked) << policy;
    EXPECT_EQ(checked.error().code, ErrorCode::InvalidArgument);
  }
  EXPECT_EQ(check_place("fifo", "anywhere").error().code, ErrorCode::NotFound);
  EXPECT_EQ(place_name("tiresias/dlas", ""), "count");
  EXPECT_EQ(place_name("headroom", ""), "least-shared");
  EXPECT_EQ(place_name("headroom", "best-fit"), "best-fit");
}

TEST(Registry, NamesAreWhole) {
  EXPECT_FALSE(make_policy("", "count"));
  EXPECT_FALSE(make_policy("fifo ", "count"));
  EXPECT_FALSE(make_policy("FIFO", "count"));
  EXPECT_FALSE(make_policy("tiresias", "count"));
}

}  // namespace
}  // namespace berth
