// Goal: a list is split at its own separators, and at none of its parts'. Method: golden cases.
#include "core/base/split.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

template <class Next>
std::vector<std::string> parts_of(std::string_view rest, Next next) {
  std::vector<std::string> parts;
  while (!rest.empty()) parts.emplace_back(next(rest));
  return parts;
}

std::vector<std::string> parts_of(std::string_view rest) {
  return parts_of(rest, next_part_outside_parentheses);
}

TEST(Split, TakesOnePartAfterTheOther) {
  const auto next = [](std::string_view& rest) { return next_part(rest, ':'); };
  EXPECT_THAT(parts_of("a:b", next), ElementsAre("a", "b"));
  EXPECT_THAT(parts_of("a(b:c),d", next), ElementsAre("a(b", "c),d"));
  EXPECT_THAT(parts_of(":a::", next), ElementsAre("", "a", ""));
  EXPECT_THAT(parts_of("", next), IsEmpty());
  std::string_view none;
  EXPECT_EQ(next_part(none, ':'), "");
}

TEST(Split, LeavesCommasInParentheses) {
  EXPECT_THAT(parts_of("gpu:a100:4(S:0-1,3),shard:8"),
              ElementsAre("gpu:a100:4(S:0-1,3)", "shard:8"));
  EXPECT_THAT(parts_of("a(b(c,d),e),f"), ElementsAre("a(b(c,d),e)", "f"));
}

TEST(Split, KeepsEmptyParts) { EXPECT_THAT(parts_of(",a,,b,"), ElementsAre("", "a", "", "b")); }

TEST(Split, TakesWhatIsNotClosedAsOnePart) {
  EXPECT_THAT(parts_of("a(b,c"), ElementsAre("a(b,c"));
  EXPECT_THAT(parts_of("a),b"), ElementsAre("a)", "b"));
}

}  // namespace
}  // namespace berth
