// Goal: two jobs are paired only where they can share a GPU and their speeds were measured; drawn
// numbers are CPython's.
// Method: pairs of jobs of stated memory and models on two types; numbers printed by CPython 3.11.
#include "policy/allocate/pairs.hpp"

#include <gtest/gtest.h>

#include "policy/allocate/python_random.hpp"
#include "policy/scene.hpp"

namespace berth {
namespace {

TEST(PythonRandom, DrawsAsCPythonDoesFromSeedZero) {
  using Two = std::pair<std::uint32_t, std::uint32_t>;
  PythonRandom large(0);  // random.sample(range(30), 2)
  for (const Two& two : {Two{27, 12}, {24, 28}, {13, 1}, {8, 16}, {15, 12}}) {
    EXPECT_EQ(large.two_of(30), two);
  }
  for (const Two& two : {Two{4, 7}, {5, 3}, {8, 2}, {4, 2}, {1, 4}}) {  // then range(10)
    EXPECT_EQ(large.two_of(10), two);
  }
}

class PairsOfJobs : public testing::Test {
 protected:
  PairsOfJobs() {
    Speeds& speeds = scene_.state().speeds;
    speeds.add_pair("a", 1, "b", Rate(600'000));
    speeds.add_pair("b", 1, "a", Rate(700'000));
    speeds.add_pair("b", 1, Speeds::neighbour_on("a", "slow"), Rate(300'000));
    speeds.rule_out("c", 1, "slow");
    speeds.add_pair("c", 1, "a", Rate(900'000));
    speeds.add_pair("a", 1, "c", Rate(900'000));
  }
  static Cluster cluster() {
    Cluster cluster;
    cluster.add_switch();
    for (const char* type : {"fast", "slow"}) {
      cluster.add_node({.name = type, .gpus = 1, .vram = Bytes(24LL << 30), .type = type});
    }
    return cluster;
  }
  JobId wait(const char* model, std::int64_t gib) {
    JobSpec spec = test::whole(1, kForever);
    spec.model = model;
    spec.request.gpu.vram = Bytes(gib << 30);
    spec.request.gpu.sharing = Sharing::Shared;
    return scene_.wait(spec);
  }

  test::Scene scene_{cluster()};
};

TEST_F(PairsOfJobs, HaveTheSpeedsOfTheType) {
  const std::vector<JobId> jobs = {wait("a", 4), wait("b", 4), wait("c", 4), wait("d", 4)};
  const ClusterView view = scene_.view();
  Pairs pairs(view, jobs);
  EXPECT_EQ(pairs.beside(0, 1, 0), Rate(600'000));
  EXPECT_EQ(pairs.gain(0, 1, 0), 1'300'000);
  EXPECT_EQ(pairs.gain(1, 0, 1), 900'000) << "b is slower beside a there";
  EXPECT_EQ(pairs.gain(0, 2, 0), 1'800'000);
  EXPECT_EQ(pairs.gain(0, 2, 1), 0) << "c does not run there";
  EXPECT_EQ(pairs.gain(0, 3, 0), 0) << "nobody measured it";
  EXPECT_TRUE(pairs.can_share(0, 3));
}

TEST_F(PairsOfJobs, AreNotMadeWhereMemoryDoesNotAdmitBoth) {
  const std::vector<JobId> jobs = {wait("a", 12), wait("b", 12), wait("b", 8),
                                   scene_.wait(test::whole(1, kForever))};
  const ClusterView view = scene_.view();
  Pairs pairs(view, jobs);
  EXPECT_FALSE(pairs.can_share(0, 1)) << "the guard band beside another job";
  EXPECT_EQ(pairs.gain(0, 1, 0), 0);
  EXPECT_TRUE(pairs.can_share(0, 2));
  EXPECT_FALSE(pairs.can_share(0, 3)) << "it states no memory";
}

}  // namespace
}  // namespace berth
