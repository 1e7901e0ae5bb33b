// Goal: a list is split at its own commas, and at none of its parts'. Method: golden cases.
#include "core/split.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::ElementsAre;

TEST(Split, LeavesCommasInParentheses) {
  EXPECT_THAT(split_outside_parentheses("gpu:a100:4(S:0-1,3),shard:8"),
              ElementsAre("gpu:a100:4(S:0-1,3)", "shard:8"));
  EXPECT_THAT(split_outside_parentheses("a(b(c,d),e),f"), ElementsAre("a(b(c,d),e)", "f"));
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_THAT(split_outside_parentheses(""), ElementsAre(""));
  EXPECT_THAT(split_outside_parentheses(",a,"), ElementsAre("", "a", ""));
}

TEST(Split, TakesWhatIsNotClosedAsOnePart) {
  EXPECT_THAT(split_outside_parentheses("a(b,c"), ElementsAre("a(b,c"));
  EXPECT_THAT(split_outside_parentheses("a),b"), ElementsAre("a)", "b"));
}

}  // namespace
}  // namespace berth
