// Goal: weights of users are set as a whole, GPUs count by the values of their types, and nothing
// senseless is taken over.
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

// ---- Values of types of GPU ------------------------------------------------------------------

/// An old GPU and a new one, of the same memory.
Cluster old_and_new() {
  Cluster cluster;
  cluster.add_switch();
  for (const char* type : {"old", "new"}) {
    cluster.add_node({.name = type, .gpus = 1, .vram = Bytes(1000), .type = type});
  }
  return cluster;
}

Settings valued(std::int64_t old_value, std::int64_t new_value) {
  Settings settings;
  settings.admission.guard_floor = Bytes(0);
  settings.gpu_values = {{"old", old_value}, {"new", new_value}, {"of no GPU", 7}};
  return settings;
}

class Values : public testing::Test {
 protected:
  std::int64_t share_of(UserId user) const { return rig_.engine().view().account(user).share_ppb; }

  Rig rig_{old_and_new(), valued(1000, 3000)};
};

TEST_F(Values, AnHourOnAnOldGpuIsNotOneOnANewGpu) {
  rig_.run(whole(1), {0});
  JobSpec other = whole(1);
  other.user = kOther;
  const JobId on_new = rig_.run(other, {1});
  EXPECT_EQ(share_of(kOne), 250'000'000);
  EXPECT_EQ(share_of(kOther), 750'000'000);
  EXPECT_EQ(rig_.engine().view().account(kOther).gpus, GpuCount(1)) << "limits go by this";
  rig_.exited(on_new);
  rig_.released(on_new);
  EXPECT_EQ(share_of(kOther), 0);
}

TEST_F(Values, CountMemoryToo) {
  JobSpec both = shared(1, Bytes(600));
  rig_.run(both, {0});
  rig_.run(both, {1});
  EXPECT_EQ(share_of(kOne), 1'000'000'000) << "of the GPUs";
  EXPECT_EQ(rig_.engine().view().account(kOne).worth.memory, Bytes(600 + 3 * 600));
  EXPECT_EQ(rig_.engine().view().worth().memory, Bytes(4000));
}

TEST_F(Values, ThatChangeCountFromThenOn) {
  rig_.run(whole(1), {0});
  rig_.at(100).tell({Configured{valued(1000, 1000)}});
  const Account account = rig_.engine().view().account(kOne);
  EXPECT_EQ(account.share_ppb, 500'000'000);
  const double whole = 250'000'000.0 * 100;
  EXPECT_LT(static_cast<double>(account.service.raw()), whole);
  EXPECT_GT(static_cast<double>(account.service.raw()), 0.9999 * whole) << "hardly decayed";
  Settings senseless = valued(0, 1000);
  rig_.tell({Configured{senseless}});
  EXPECT_EQ(rig_.engine().view().settings(), valued(1000, 1000));
}

TEST_F(Values, AreKeptInASnapshot) {
  rig_.run(whole(1), {1});
  auto again = Engine::restore(rig_.engine().save(), std::make_unique<Script>());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->view().account(kOne), rig_.engine().view().account(kOne));
  EXPECT_EQ(again->view().value_of(GpuId(1)), 3000);
}

}  // namespace
}  // namespace berth::test
