// Goal: a job's work, the time that a cluster shared between users needs for it, and a user's
// burden are the stated formulas. Method: a few jobs on one scene, the results worked out by hand.
#include "policy/order/backlog.hpp"

#include <gtest/gtest.h>

#include "policy/scene.hpp"

namespace berth {

namespace {

using test::Scene;
using test::uniform;
using test::whole;

constexpr Bytes kGib{std::int64_t{1} << 30};
constexpr std::int64_t kAll = 1'000'000'000;

/// The whole cluster for so many seconds.
constexpr Work cluster_seconds(std::int64_t count) { return Work{kAll} * micros(seconds(count)); }

Ask shared(std::int64_t gpus, Bytes each, GpuMilli milli = GpuMilli(0)) {
  Ask ask;
  ask.request.gpu = {.count = GpuCount(gpus), .vram = each, .milli = milli};
  return ask;
}

TEST(Backlog, AnAskTakesTheLargerPartOfMemoryAndTime) {
  const Cluster cluster = uniform(2, 4);
  Ask alone;
  alone.request.gpu = {.count = GpuCount(2), .sharing = Sharing::Alone};
  EXPECT_EQ(part_of(alone, cluster), kAll / 4);
  EXPECT_EQ(part_of(shared(2, kGib * 6), cluster), kAll / 16);
  EXPECT_EQ(part_of(shared(2, kGib * 6, GpuMilli(500)), cluster), kAll / 8);
  EXPECT_EQ(part_of(shared(1, Bytes(0)), cluster), kAll / 8) << "no memory stated: a whole GPU";
  EXPECT_EQ(part_of(shared(100, kGib * 24), cluster), kAll) << "no more than all";
}

TEST(Backlog, AnAskWithoutGpusTakesCores) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = 1, .vram = kGib, .cpu = CpuMilli(8000)});
  Ask ask;
  ask.request.cpu = CpuMilli(2000);
  EXPECT_EQ(part_of(ask, cluster), kAll / 4);
}

class BacklogOfUsers : public testing::Test {
 protected:
  void add(UserId::rep user, Work work) { backlog_.add(JobId(++last_), UserId(user), work); }
  Duration until_done(UserId::rep user, Work running = 0) {
    return backlog_.until_done(UserId(user), running, scene_.view());
  }

  Scene scene_{uniform(1, 4)};
  Backlog backlog_;
  std::uint64_t last_ = 0;
};

TEST_F(BacklogOfUsers, OfOthersOnlyWhatIsDoneMeanwhileIsAhead) {
  add(1, cluster_seconds(10));
  add(2, cluster_seconds(1000));
  add(3, cluster_seconds(4));
  EXPECT_EQ(until_done(1), seconds(10 + 10 + 4));
  EXPECT_EQ(until_done(2), seconds(1014));
  EXPECT_EQ(until_done(3), seconds(12));
  EXPECT_EQ(until_done(1, cluster_seconds(7)), seconds(31));
}

TEST_F(BacklogOfUsers, WeightsDivideTheCluster) {
  scene_.state().accounts[UserId(2)].weight_milli = 3000;
  add(1, cluster_seconds(10));
  add(2, cluster_seconds(1000));
  EXPECT_EQ(until_done(1), seconds(40));
  backlog_.clear();
  add(1, cluster_seconds(1000));
  add(2, cluster_seconds(30));
  EXPECT_EQ(until_done(2), seconds(40));
}

TEST_F(BacklogOfUsers, WhatNoLongerWaitsIsNotAhead) {
  add(1, cluster_seconds(10));
  add(1, cluster_seconds(5));
  add(2, 0);
  backlog_.remove(JobId(1));
  backlog_.remove(JobId(1));
  EXPECT_EQ(backlog_.of(UserId(1)), cluster_seconds(5));
  EXPECT_EQ(until_done(2), seconds(0));
  backlog_.remove(JobId(2));
  EXPECT_EQ(backlog_.of(UserId(1)), 0);
}

}  // namespace

}  // namespace berth
