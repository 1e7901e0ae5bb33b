// Goal: users have their turns, whatever is taken out between. Method: by hand.
#include "live/fair_queue.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::live {
namespace {

std::string all_of(FairQueue<std::string>& queue) {
  std::string text;
  while (const std::string* const next = queue.next()) {
    const std::string shown = *next;
    const auto taken = queue.pop();
    EXPECT_EQ(taken->second, shown);
    text += std::to_string(taken->first) + taken->second + " ";
  }
  return text;
}

FairQueue<std::string> filled() {
  FairQueue<std::string> queue;
  for (const char* const text : {"a", "b", "c"}) queue.push(1, text);
  queue.push(2, "a");
  queue.push(3, "b");
  return queue;
}

TEST(FairQueue, EachUserInTurn) {
  auto queue = filled();
  EXPECT_EQ(all_of(queue), "1a 2a 3b 1b 1c ");
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.next(), nullptr);
}

TEST(FairQueue, WhatIsTakenOutLeavesTheTurnsOfTheRest) {
  auto queue = filled();
  const auto is_a = [](const std::string& text) { return text == "a"; };
  EXPECT_TRUE(queue.any_of(is_a));
  EXPECT_EQ(queue.take_if(is_a), (std::vector<std::string>{"a", "a"}));
  EXPECT_FALSE(queue.any_of(is_a));
  queue.push(2, "z");
  EXPECT_EQ(all_of(queue), "1b 3b 2z 1c ");
}

TEST(FairQueue, WhatIsTakenAndNotDoneIsFirstOfItsUser) {
  auto queue = filled();
  queue.push_again(1, queue.pop()->second);
  EXPECT_EQ(all_of(queue), "2a 3b 1a 1b 1c ");
}

}  // namespace
}  // namespace berth::live
