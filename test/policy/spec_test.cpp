// Goal: a policy as it is written is taken apart right, and a slip is named.
// Method: texts, good and bad; good ones written again.
#include "policy/spec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr auto kNames =
    std::to_array<std::string_view>({"las", "tiresias/dlas-gpu", "tiresias/dlas-gpu+fixjump"});

Expected<Spec> parse(std::string_view text) { return parse_spec(text, kNames); }
std::string refusal(std::string_view text) {
  const auto spec = parse(text);
  return spec ? "" : spec.error().message;
}

TEST(PolicySpec, ANameStandsAlone) {
  const auto spec = parse("las");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->order.name, "las");
  EXPECT_THAT(spec->order.keys, IsEmpty());
  EXPECT_TRUE(spec->parts.empty());
  EXPECT_FALSE(spec->place);
}

TEST(PolicySpec, EveryPartHasKeys) {
  const auto spec = parse("wfp3:a=1:b=2m+easy:depth=4@fgd:typical_percent=80");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->order.name, "wfp3");
  EXPECT_THAT(spec->order.keys, ElementsAre(Pair("a", "1"), Pair("b", "2m")));
  EXPECT_EQ(spec->parts.at(0).name, "easy");
  EXPECT_THAT(spec->parts.at(0).keys, ElementsAre(Pair("depth", "4")));
  EXPECT_EQ(spec->place->name, "fgd");
  EXPECT_THAT(spec->place->keys, ElementsAre(Pair("typical_percent", "80")));
}

TEST(PolicySpec, APartWithoutAnEqualsSignBelongsToTheValueBefore) {
  const auto spec = parse("dlas:thresholds=3250:7200:more=1:30:00");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_THAT(spec->order.keys,
              ElementsAre(Pair("thresholds", "3250:7200"), Pair("more", "1:30:00")));
}

TEST(PolicySpec, ARegisteredNameMayHoldAPlus) {
  EXPECT_EQ(parse("tiresias/dlas-gpu+fixjump")->order.name, "tiresias/dlas-gpu+fixjump");
  const auto spec = parse("tiresias/dlas-gpu+fixjump:promote=8+easy");
  EXPECT_EQ(spec->order.name, "tiresias/dlas-gpu+fixjump");
  EXPECT_EQ(spec->parts.at(0).name, "easy");
  EXPECT_EQ(parse("tiresias/dlas-gpu+easy")->parts.at(0).name, "easy");
}

TEST(PolicySpec, WhatIsReadIsWrittenAgain) {
  for (const char* text : {"las", "las:quantum=1m", "las@yarn", "dlas:thresholds=1:2+skip",
                           "wfp3+easy:x=1@fgd:typical_percent=80", "tiresias/dlas-gpu+fixjump"}) {
    const auto spec = parse(text);
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(to_text(*spec), text);
    EXPECT_EQ(*parse(to_text(*spec)), *spec);
  }
}

TEST(PolicySpec, SlipsAreNamed) {
  EXPECT_EQ(refusal(""), "policy '': the name of the policy is missing");
  EXPECT_THAT(refusal("las@"), HasSubstr("the name of the placement behind the @ is missing"));
  EXPECT_THAT(refusal("@yarn"), HasSubstr("the name of the policy is missing"));
  EXPECT_THAT(refusal("las+"),
              HasSubstr("the name of the backfill or gate behind the + is missing"));
  EXPECT_THAT(refusal("las@a@b"), HasSubstr("more than one @"));
  EXPECT_EQ(refusal("las:"), "policy 'las:': '' is not KEY=VALUE");
  EXPECT_THAT(refusal("las:5m"), HasSubstr("'5m' is not KEY=VALUE"));
  EXPECT_THAT(refusal("las:=5m"), HasSubstr("'=5m' is not KEY=VALUE"));
  EXPECT_THAT(refusal("las:a=1:a=2"), HasSubstr("the key 'a' is given twice"));
}

}  // namespace
}  // namespace berth
