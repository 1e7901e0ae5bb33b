// Goal: run times are told by the likeliest runs before, in bounded room, and survive as bytes.
// Method: short histories worked out by hand; many kinds; damaged bytes.
#include "policy/order/run_history.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "policy/kit/memory.hpp"

namespace berth {
namespace {

constexpr RunTraits kTrain{.user = 1, .program = 7, .gpus = 2};

std::string bytes_of(const RunHistory& history) { return saved(history.memory()); }

Expected<void> restore(RunHistory& history, std::string_view bytes) {
  RunHistory::Memory memory;
  auto done = restore_into(memory, bytes, "a history of runs", RunHistory::is_sane);
  if (done) history.remember(std::move(memory));
  return done;
}

TEST(RunHistory, AMeanOfAllUpTo32AndThenMovesByA32nd) {
  RunHistory history;
  EXPECT_EQ(history.expected(kTrain), kForever);
  for (int i = 0; i < 32; ++i) history.learn(kTrain, seconds(i % 2 == 0 ? 90 : 110));
  EXPECT_EQ(history.expected(kTrain), seconds(100));
  history.learn(kTrain, seconds(420));
  EXPECT_EQ(history.expected(kTrain), seconds(110));
}

TEST(RunHistory, WhoNamesNoProgramCountsOnceForTheUser) {
  RunHistory history;
  history.learn({.user = 1, .program = 0, .gpus = 1}, seconds(100));
  history.learn({.user = 1, .program = 0, .gpus = 2}, seconds(200));
  EXPECT_EQ(history.expected({.user = 1, .program = 0, .gpus = 4}), seconds(150));
}

TEST(RunHistory, ForgetsWhatWasNotRenewedForLongest) {
  RunHistory history;
  history.learn(kTrain, seconds(5));
  history.learn({.user = 2, .program = 3, .gpus = 1}, seconds(50));
  for (int i = 0; i < 20'000; ++i) {
    history.learn({.user = 3, .program = i + 10, .gpus = 1}, seconds(1000));
    if (i % 1000 == 0) history.learn(kTrain, seconds(5));
  }
  EXPECT_EQ(history.expected(kTrain), seconds(5)) << "it was renewed";
  EXPECT_GT(history.expected({.user = 2, .program = 3, .gpus = 1}), seconds(900)) << "of others";
  EXPECT_LT(bytes_of(history).size(), std::size_t{16'385} * 60);
}

TEST(RunHistory, SurvivesAsBytesAndRefusesOthers) {
  RunHistory history;
  for (int i = 0; i < 100; ++i) history.learn({i % 3, i % 5, i % 2}, seconds(i));
  const std::string bytes = bytes_of(history);
  RunHistory copy;
  ASSERT_TRUE(restore(copy, bytes));
  EXPECT_EQ(bytes_of(copy), bytes);
  history.learn(kTrain, seconds(3));
  copy.learn(kTrain, seconds(3));
  EXPECT_EQ(bytes_of(copy), bytes_of(history));
  EXPECT_FALSE(restore(copy, std::string_view(bytes).substr(0, bytes.size() - 1)));
  RunHistory::Memory none = history.memory();
  none.means.begin()->second.times = 0;
  EXPECT_FALSE(restore(copy, saved(none))) << "a mean of nothing";
}

}  // namespace
}  // namespace berth
