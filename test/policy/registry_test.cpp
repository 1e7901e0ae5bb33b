// Goal: what is registered can be made, and what is not is refused with the names there are.
// Method: makes everything with everything.
#include "policy/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace berth {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
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
  EXPECT_THAT(
      made.error().message,
      StartsWith("policy 'fcfs' is unknown; valid names: headroom, turns, fifo, fifo-skip, "));
  for (const PolicyEntry& entry : policies()) {
    EXPECT_THAT(made.error().message, HasSubstr(std::string(entry.name)));
  }
}

TEST(Registry, KnowsANameAsItStandsInAPaper) {
  const auto told = [](std::string_view name) {
    const auto made = make_policy(name, "count");
    return made ? std::string() : made.error().message;
  };
  EXPECT_THAT(told("QSSF"), EndsWith("; did you mean qssf?"));
  EXPECT_THAT(told("dlas-gpu"), EndsWith("; did you mean tiresias/dlas-gpu?"));
  EXPECT_THAT(told("Tiresias"), HasSubstr("; did you mean tiresias/"));
  EXPECT_THAT(told("e_las"), EndsWith("; did you mean e-las?"));
  EXPECT_THAT(told("fiffo"), EndsWith("; did you mean fifo?"));
  EXPECT_THAT(told("luck"), Not(HasSubstr("did you mean")));
}

TEST(Registry, RefusesAnUnknownPlacementToo) {
  const auto made = make_policy("fifo", "anywhere");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::NotFound);
  EXPECT_THAT(made.error().message, StartsWith("placement 'anywhere' is unknown; valid names: "));
  for (const PlacerEntry& entry : placers()) {
    EXPECT_THAT(made.error().message, HasSubstr(std::string(entry.name)));
  }
}

TEST(Registry, APlacementThatAPolicyIgnoresIsRefused) {
  EXPECT_TRUE(check_place("fifo", "yarn"));
  EXPECT_TRUE(check_place("carma", ""));
  EXPECT_TRUE(check_place("tiresias/dlas-gpu", "count"));
  for (const char* policy : {"carma", "capacity", "tiresias/dlas", "tiresias/dlas-gpu:promote=8"}) {
    const auto checked = check_place(policy, "yarn");
    ASSERT_FALSE(checked) << policy;
    EXPECT_EQ(checked.error().code, ErrorCode::InvalidArgument);
  }
  EXPECT_EQ(check_place("fifo", "anywhere").error().code, ErrorCode::NotFound);
  EXPECT_EQ(choose("tiresias/dlas")->place, "count");
  EXPECT_EQ(choose("headroom")->place, "least-shared");
  EXPECT_EQ(choose("headroom", "best-fit")->place, "best-fit");
  EXPECT_EQ(choose("headroom@yarn", "best-fit")->place, "yarn");
}

TEST(Registry, EveryKeyHasAValidDefaultAndASentence) {
  const auto check = [](std::string_view name, const About& about) {
    for (const Key& key : about.keys) {
      Keys keys(about.keys);
      EXPECT_TRUE(keys.set(key.name, key.usual)) << name << " " << key.name;
      EXPECT_TRUE(key.what.ends_with(".")) << name << " " << key.name;
    }
  };
  for (const PolicyEntry& entry : policies()) check(entry.name, *entry.about);
  for (const PlacerEntry& entry : placers()) check(entry.name, *entry.about);
}

TEST(Registry, EveryPolicySaysAllOfItself) {
  std::set<std::string_view> titles;
  const auto check = [&](std::string_view name, const About& about) {
    EXPECT_TRUE(titles.insert(about.title).second) << name;
    for (const auto text : {&About::title, &About::rule, &About::reads, &About::source,
                            &About::differs, &About::cost, &About::proof}) {
      EXPECT_TRUE((about.*text).ends_with(".")) << name << ": " << about.*text;
    }
  };
  for (const PolicyEntry& entry : policies()) check(entry.name, *entry.about);
  for (const PlacerEntry& entry : placers()) check(entry.name, *entry.about);
}

TEST(Registry, KeysReachThePolicyTheyAreGivenTo) {
  const auto chosen = choose("las:quantum=1m@fgd:typical_percent=80");
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->name, "las:quantum=1m");
  EXPECT_EQ(chosen->keys.time("quantum"), minutes(1));
  EXPECT_EQ(chosen->place_keys.number("typical_percent"), 80);
  EXPECT_EQ(choose("las")->keys.time("quantum"), minutes(5));
}

TEST(Registry, AWrongKeyIsNamedWithTheValidOnes) {
  const auto message = [](std::string_view spec) { return choose(spec).error().message; };
  EXPECT_EQ(message("multifactor:age=1"),
            "policy multifactor: unknown key 'age'; valid keys: age_weight, fair_share_weight, "
            "size_weight, max_age, period");
  EXPECT_EQ(message("fifo:quantum=1m"), "policy fifo: unknown key 'quantum'; it has no keys");
  EXPECT_EQ(message("las:quantum=0"),
            "policy las: quantum=0: must be a duration from 1s to 365d, such as 5m");
  EXPECT_THAT(message("turns:quantum=6s,first_queue=6s"),
              testing::EndsWith("such as 15m; keys are separated by ':'"));
  EXPECT_EQ(message("fifo@fgd:typical_percent=101"),
            "placement fgd: typical_percent=101: must be a percent from 1 to 100, such as 95");
  EXPECT_EQ(message("dlas:thresholds=5:5"),
            "policy dlas: thresholds=5:5: must be 1 to 64 rising numbers of GPU-seconds, each 1 to "
            "100000000, such as 3250:7200");
}

TEST(Registry, KeysThatContradictEachOtherAreNamed) {
  EXPECT_EQ(choose("headroom:short_bound=9h").error().message,
            "policy headroom: short_bound=32400s: must be at most medium_bound, which is 14400s");
  EXPECT_TRUE(choose("headroom:short_bound=9h:medium_bound=10h"));
}

TEST(Registry, AGateThatPreemptsIsRefusedWhereJobsWouldComeBackAtOnce) {
  EXPECT_EQ(choose("fifo+conservative+yield").error().message,
            "policy fifo: a gate that preempts does not go with backfill 'conservative', which "
            "would give jobs their places back at once");
  EXPECT_FALSE(choose("las+yield"));
  EXPECT_TRUE(choose("fifo+conservative+idle"));
  EXPECT_TRUE(choose("headroom+yield")->preempts());
  EXPECT_FALSE(choose("headroom")->preempts());
}

TEST(Registry, APolicySharesByMpsWithTheGateForIt) {
  EXPECT_TRUE(choose("las+mps")->shares_by_mps);
  EXPECT_TRUE(choose("headroom+yield+mps")->shares_by_mps);
  EXPECT_FALSE(choose("headroom+yield")->shares_by_mps);
}

TEST(Registry, AnOrderIsRefusedWhereItWouldNeverSettle) {
  const auto displacing = choose("drf+displace");
  ASSERT_FALSE(displacing);
  EXPECT_EQ(displacing.error().message,
            "policy drf orders users by what they hold, which every start changes, so that jobs "
            "would displace each other without end: it takes no backfill 'displace'");
  EXPECT_EQ(choose("multifactor+displace").error().message,
            "policy multifactor ranks waiting jobs higher and higher, so that jobs would displace "
            "each other without end: it takes no backfill 'displace'");
  for (const char* const refused : {"fair-share+displace", "wfp3+displace", "drf+conservative"}) {
    EXPECT_FALSE(choose(refused)) << refused;
  }
  for (const char* const taken : {"drf+easy", "multifactor+easy", "las+displace"}) {
    EXPECT_TRUE(choose(taken)) << taken;
  }
}

TEST(Registry, PartsAreOneBackfillAndAnyGates) {
  const auto chosen = choose("sjf+idle:share_after=10m+easy+exclusive@count");
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->name, "sjf+idle:share_after=10m+easy+exclusive");
  EXPECT_EQ(chosen->backfill->name, "easy");
  ASSERT_EQ(chosen->gates.size(), 2U);
  EXPECT_EQ(chosen->gates[0].second.time("share_after"), minutes(10));
  EXPECT_EQ(chosen->place, "count");
  EXPECT_EQ(choose("sjf+local")->backfill, choose("sjf")->backfill);
  const auto message = [](std::string_view spec) { return choose(spec).error().message; };
  EXPECT_EQ(message("sjf+easy+skip"), "policy sjf: '+skip' is a second backfill beside '+easy'");
  EXPECT_EQ(message("sjf+idle+idle"), "policy sjf: '+idle' is given twice");
  EXPECT_EQ(message("carma+idle"), "policy carma is no order: it takes no '+idle'");
  EXPECT_EQ(message("sjf+tidy"),
            "backfill or gate 'tidy' is unknown; valid names: block, skip, displace, easy, "
            "conservative, lend, exclusive, idle, local, mps, yield");
  EXPECT_EQ(message("headroom+idle:share_after=1m"),
            "gate idle: 'share_after' is a key of policy headroom itself: write it there");
}

TEST(Registry, NamesAreWhole) {
  EXPECT_FALSE(make_policy("", "count"));
  EXPECT_FALSE(make_policy("fifo ", "count"));
  EXPECT_FALSE(make_policy("FIFO", "count"));
  EXPECT_FALSE(make_policy("tiresias", "count"));
}

}  // namespace
}  // namespace berth
