// Goal: weights of users are set as a whole, and nothing senseless is taken over.
// Method: inputs to an engine, and its accounts.
#include <gtest/gtest.h>

#include "engine/rig.hpp"

namespace berth::test {
namespace {

constexpr UserId kOne(7);
constexpr UserId kOther(8);

class Weights : public testing::Test {
 protected:
  std::int64_t of(UserId user) const { return rig_.engine().view().account(user).weight_milli; }

  Rig rig_{nodes_of(1, 2)};
};

TEST_F(Weights, AreOfThoseWhoAreNamedAndOneOfEverybodyElse) {
  rig_.tell({Weighed{{{kOne, 3000}, {kOther, 500}}}});
  EXPECT_EQ(of(kOne), 3000);
  EXPECT_EQ(of(kOther), 500);
  rig_.at(5).tell({Weighed{{{kOther, 2000}}}});
  EXPECT_EQ(of(kOne), kUsualWeight);
  EXPECT_EQ(of(kOther), 2000);
}

TEST_F(Weights, ChangeNothingElseOfAnAccount) {
  const JobId id = rig_.run(shared(1, Bytes(1)), {0});
  Account before = rig_.at(9).engine().view().account(kOne);
  rig_.tell({Weighed{{{kOne, 3000}}}});
  Account after = rig_.engine().view().account(kOne);
  before.settle(kStart + seconds(9), rig_.engine().view().settings().service_half_life);
  before.weight_milli = 3000;
  EXPECT_EQ(after, before);
  rig_.exited(id);
  rig_.released(id);
  EXPECT_EQ(of(kOne), 3000) << "without a job";
}

TEST_F(Weights, OutOfRangeAreAllRefused) {
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{0}, kMostWeight + 1}) {
    rig_.tell({Weighed{{{kOne, 3000}, {kOther, bad}}}});
    EXPECT_EQ(of(kOne), kUsualWeight) << bad;
  }
}

}  // namespace
}  // namespace berth::test
