// Goal: a charge falls to what its tenant held most, once, after the warm-up, where its user allows
// it, and the engine then admits by that. Method: looks made by hand, a real engine.
#include "live/shrinker.hpp"

#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth::live {
namespace {

constexpr Bytes kShrinkGib{std::int64_t{1} << 30};
constexpr GpuId kOnly{0};
constexpr JobId kBig{1};

Instant at_second(std::int64_t second) { return kStart + seconds(second); }

class ShrinkerTest : public testing::Test {
 protected:
  ShrinkerTest() : engine_(one_gpu(), {}, *make_policy("fifo", "first-fit")) {
    submit(kBig, kShrinkGib * 20);
    engine_.step(at_second(1), std::vector<Input>{Started{kBig, Attempt(1)}});
  }

  static Cluster one_gpu() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n", .gpus = 1, .vram = kShrinkGib * 24, .context = Bytes(0)});
    return cluster;
  }
  void submit(JobId job, Bytes vram, std::int64_t second = 0) {
    JobSpec spec;
    spec.request.gpu = {.count = GpuCount(1), .vram = vram};
    engine_.step(at_second(second), std::vector<Input>{Submitted{job, spec}});
  }
  /// The engine's step after a look at what job 1 holds.
  std::size_t look(std::int64_t second, Bytes held) {
    Look look{.gpu = kOnly,
              .began = at_second(second),
              .sample = Sample{.total = kShrinkGib * 24,
                               .used = held,
                               .processes = {{{.pid = 7, .bytes = held}}}},
              .owners = {{7, OfJob{kBig}}}};
    const auto inputs = shrinker_.on_look(look, engine_.view());
    if (!inputs.empty()) engine_.step(at_second(second), inputs);
    return inputs.size();
  }
  Bytes charge() const { return engine_.view().find(kBig)->grant.shares.front().charge; }

  bool allows_ = true;
  Engine engine_;
  Shrinker shrinker_{{.warm_up = seconds(60)}, [this](const Job&) { return allows_; }};
};

TEST_F(ShrinkerTest, FallsOnceToThePeakAndAMargin) {
  EXPECT_EQ(look(2, kShrinkGib * 8), 0U);
  EXPECT_EQ(look(30, kShrinkGib * 5), 0U);
  EXPECT_EQ(charge(), kShrinkGib * 20);
  EXPECT_EQ(look(62, kShrinkGib * 4), 1U);
  EXPECT_EQ(charge(), shrunk_charge(kShrinkGib * 8, {})) << "the most of its warm-up";
  EXPECT_EQ(look(100, kShrinkGib * 4), 0U);
}

TEST_F(ShrinkerTest, TheRoomGoesToOthers) {
  submit(JobId(2), kShrinkGib * 10, 1);
  EXPECT_EQ(engine_.view().running().size(), 1U);
  look(2, kShrinkGib * 8);
  look(62, kShrinkGib * 8);
  EXPECT_EQ(engine_.view().running().size(), 2U) << "started by the step that shrank the first";
}

TEST_F(ShrinkerTest, NotWithoutItsUsersWord) {
  allows_ = false;
  look(2, kShrinkGib * 8);
  EXPECT_EQ(look(62, kShrinkGib * 8), 0U);
  EXPECT_EQ(charge(), kShrinkGib * 20);
}

TEST_F(ShrinkerTest, NeverUpwards) {
  look(2, kShrinkGib * 20);
  EXPECT_EQ(look(62, kShrinkGib * 20), 0U);
  EXPECT_EQ(charge(), kShrinkGib * 20);
}

TEST_F(ShrinkerTest, WhatIsTakenAfterwardsIsMeasuredAsEver) {
  look(2, kShrinkGib * 8);
  look(62, kShrinkGib * 8);
  engine_.step(at_second(70), std::vector<Input>{Measured{.gpu = kOnly,
                                                          .foreign = Bytes(0),
                                                          .used = kShrinkGib * 12,
                                                          .tenants = {{kBig, kShrinkGib * 12}}}});
  EXPECT_EQ(charge(), kShrinkGib * 12);
}

TEST_F(ShrinkerTest, AnInputOfAnEarlierAttemptChangesNothing) {
  engine_.step(at_second(9), std::vector<Input>{Shrunk{kBig, Attempt(7), kOnly, kShrinkGib}});
  EXPECT_EQ(charge(), kShrinkGib * 20);
}

TEST(ShrunkCharge, HasAMarginInWholeSteps) {
  constexpr Bytes kMib{std::int64_t{1} << 20};
  EXPECT_EQ(shrunk_charge(kShrinkGib, {}), kShrinkGib + kMib * 512);
  EXPECT_EQ(shrunk_charge(kShrinkGib * 20, {}).raw() % kProbeStep.raw(), 0);
  EXPECT_GE(shrunk_charge(kShrinkGib * 20, {}), kShrinkGib * 22);
  EXPECT_LE(shrunk_charge(kShrinkGib * 20, {}), kShrinkGib * 22 + kProbeStep);
}

}  // namespace
}  // namespace berth::live
