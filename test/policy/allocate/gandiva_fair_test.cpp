// Goal: users have equal parts of each type, and trade where both gain, at the price of the next
// largest speed-up. Method: three users on two types; parts worked by hand.
#include "policy/allocate/gandiva_fair.hpp"

#include <gtest/gtest.h>

#include "policy/scene.hpp"

namespace berth {
namespace {

class FairTrades : public testing::Test {
 protected:
  FairTrades() {
    Speeds& speeds = scene_.state().speeds;
    speeds.add_type("big", 0, "slow", Rate(200'000));
    speeds.add_type("mid", 0, "slow", Rate(250'000));
    speeds.add_type("small", 0, "slow", Rate(800'000));
    speeds.rule_out("stuck", 1, "fast");
  }
  static Cluster cluster() {
    Cluster cluster;
    cluster.add_switch();
    for (const char* type : {"fast", "slow"}) {
      cluster.add_node({.name = type, .gpus = 3, .vram = Bytes(24LL << 30), .type = type});
    }
    return cluster;
  }
  void jobs(std::uint32_t user, const char* model, int count) {
    for (int i = 0; i < count; ++i) {
      JobSpec spec = test::whole(1, kForever);
      spec.user = UserId(user);
      spec.model = model;
      jobs_.push_back(scene_.wait(spec));
    }
  }
  /// Of the time, in thousandths.
  std::int64_t part(std::size_t job, std::uint8_t type) const {
    const Proposal found = fair_trades()->propose(scene_.view(), jobs_, TimePlan());
    for (std::size_t i = 0; i < found.options.size(); ++i) {
      if (found.options[i] != Option{{jobs_[job]}, type}) continue;
      return found.shares[i].part * 1000 / found.shares[i].of;
    }
    return -1;
  }

  test::Scene scene_{cluster()};
  std::vector<JobId> jobs_;
};

TEST_F(FairTrades, TheLargestSpeedUpBuysAtTheNext) {
  jobs(1, "big", 2);
  jobs(2, "mid", 2);
  jobs(3, "small", 3);
  EXPECT_EQ(part(0, 0), 625) << "a quarter of a fast GPU for all of its slow one";
  EXPECT_EQ(part(0, 1), 0);
  EXPECT_EQ(part(2, 0), 500);
  EXPECT_EQ(part(2, 1), 500) << "it would pay what its seller gains by its own use";
  EXPECT_EQ(part(4, 0), 250);
  EXPECT_EQ(part(4, 1), 666);
}

TEST_F(FairTrades, ASellerBuysNoMoreThanItsJobsAskFor) {
  jobs(1, "big", 2);
  jobs(2, "mid", 2);
  jobs(3, "small", 2);
  EXPECT_EQ(part(4, 0), 500) << "two jobs on two GPUs have nothing to gain by more";
  EXPECT_EQ(part(0, 0), 500);
}

TEST_F(FairTrades, OfTwoUsersNoneBidsAgainstTheOther) {
  jobs(1, "big", 3);
  jobs(2, "small", 6);
  EXPECT_EQ(part(0, 0), 500);
  EXPECT_EQ(part(3, 0), 250);
}

TEST_F(FairTrades, WeightsCount) {
  scene_.state().accounts[UserId(1)].weight_milli = 2 * kUsualWeight;
  jobs(1, "small", 6);
  jobs(2, "small", 6);
  EXPECT_EQ(part(0, 0), 333) << "two of three";
  EXPECT_EQ(part(6, 0), 166);
}

TEST_F(FairTrades, WhatOneUserCannotUseGoesToOthers) {
  jobs(1, "small", 1);
  jobs(2, "small", 6);
  EXPECT_EQ(part(0, 0) + part(0, 1), 1000) << "one GPU is all it asks for";
  EXPECT_EQ(part(1, 0), 416) << "two and a half of three";
}

TEST_F(FairTrades, AModelHasNothingOfATypeOnWhichItDoesNotRun) {
  jobs(1, "stuck", 3);
  jobs(2, "mid", 3);
  EXPECT_EQ(part(0, 0), -1);
  EXPECT_EQ(part(0, 1), 500);
}

}  // namespace
}  // namespace berth
