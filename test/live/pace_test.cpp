// Goal: a GPU is looked at often exactly while somebody may be hurt, and never more than its looks
// may cost. Method: scenes as data; then looks made by hand at chosen instants, with an engine of
// two jobs on one GPU for the view.
#include "live/pace.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth::live {
namespace {

using namespace berth::literals;

constexpr Rhythm kRhythm{.usual = seconds(1), .fast = Duration(10'000)};
constexpr Duration kFast = kRhythm.fast;
constexpr Duration kSlow = kRhythm.fast * 5;
const Instant kNow = berth::kStart + seconds(1000);

/// Two tenants that have not taken all they were granted, on a GPU with room, for long.
Scene calm() {
  return {.watched = 2,
          .tenants = 2,
          .free = 20_GiB,
          .unfilled = 4_GiB,
          .took = Duration(100),
          .began = kNow,
          .grew = kNow - seconds(100),
          .changed = kNow - seconds(100)};
}

std::optional<Duration> pause_with(const std::function<void(Scene&)>& change) {
  Scene scene = calm();
  change(scene);
  return pause_of(scene, kNow, kRhythm);
}

TEST(Pause, ACalmGpuWaitsForTheUsualLook) {
  EXPECT_EQ(pause_with([](Scene&) {}), std::nullopt);
}

TEST(Pause, GrowthIsFollowedFast) {
  EXPECT_EQ(pause_with([](Scene& s) { s.grew = kNow - seconds(1); }), kFast);
  EXPECT_EQ(pause_with([](Scene& s) { s.grew = kNow - kRamp; }), std::nullopt);
}

TEST(Pause, AStartIsFollowedUntilItGrows) {
  EXPECT_EQ(pause_with([](Scene& s) { s.changed = kNow - seconds(20); }), kSlow);
  EXPECT_EQ(pause_with([](Scene& s) { s.changed = kNow - kBegan; }), std::nullopt);
}

TEST(Pause, ATightGpuIsWatched) {
  EXPECT_EQ(pause_with([](Scene& s) { s.free = kTakenInASecond - 1_MiB; }), kSlow);
  EXPECT_EQ(pause_with([](Scene& s) { s.free = kTakenInASecond + 1_MiB; }), std::nullopt);
}

TEST(Pause, NobodyIsWatchedWhereNobodyCanBeHurt) {
  const auto ramps = [](Scene& s) { s.grew = kNow; };
  EXPECT_EQ(pause_with(ramps), kFast);
  EXPECT_EQ(pause_with([&](Scene& s) {
              ramps(s);
              s.tenants = s.watched = 1;
            }),
            std::nullopt)
      << "alone";
  EXPECT_EQ(pause_with([&](Scene& s) {
              ramps(s);
              s.unfilled = Bytes(0);
            }),
            std::nullopt)
      << "all have what they asked for";
  EXPECT_EQ(pause_with([&](Scene& s) {
              ramps(s);
              s.watched = 0;
            }),
            std::nullopt)
      << "the driver watches";
}

TEST(Pause, LooksTakeATwentiethOfTheTimeAtMost) {
  const auto slow_looks = [](Duration took) {
    return pause_with([&](Scene& s) {
      s.grew = kNow;
      s.took = took;
    });
  };
  EXPECT_EQ(slow_looks(Duration(400)), kFast);
  EXPECT_EQ(slow_looks(Duration(1'000)), Duration(20'000));
  EXPECT_EQ(slow_looks(Duration(9'000)), kSlow) << "never so seldom that nothing is seen";
}

TEST(Pause, IsNoneWhereTheUsualLooksAreAsOften) {
  Scene scene = calm();
  scene.grew = kNow;
  EXPECT_EQ(pause_of(scene, kNow, {.usual = Duration(10'000), .fast = Duration(10'000)}),
            std::nullopt);
}

class PacerTest : public testing::Test {
 protected:
  PacerTest() {
    std::vector<Input> inputs;
    for (const JobId job : {JobId(1), JobId(2)}) {
      JobSpec spec;
      spec.request.gpu = {.count = GpuCount(1), .vram = 4_GiB};
      inputs.emplace_back(Submitted{job, spec});
    }
    engine_.step(berth::kStart, inputs);
    EXPECT_EQ(engine_.view().tenants_of(kGpu).size(), 2U);
  }
  static Cluster one_gpu() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n", .gpus = 1, .vram = 24_GiB});
    return cluster;
  }
  /// A look that begins at `at` and takes a tenth of a millisecond.
  void see(Instant at, Bytes first, Bytes second) {
    Sample sample{.total = 24_GiB, .used = first + second};
    sample.processes = {{.pid = 1, .bytes = first}, {.pid = 2, .bytes = second}};
    const Look look{.gpu = kGpu,
                    .began = at,
                    .sample = sample,
                    .owners = {{1, OfJob{JobId(1)}}, {2, OfJob{JobId(2)}}}};
    pacer_.saw(look, engine_.view(), at + Duration(100));
  }

  static constexpr GpuId kGpu{0};
  Engine engine_{one_gpu(), {}, *make_policy("fifo", "first-fit")};
  Pacer pacer_{1, kRhythm};
};

TEST_F(PacerTest, ANewTenantIsLookedAtSoon) {
  EXPECT_EQ(pacer_.next(kNow), std::nullopt);
  pacer_.changed({kGpu}, kNow);
  EXPECT_EQ(pacer_.next(kNow), kSlow);
  EXPECT_TRUE(pacer_.due(kNow + kSlow).contains(kGpu));
  pacer_.asked(kGpu);
  EXPECT_EQ(pacer_.next(kNow + kSlow), std::nullopt) << "it is being looked at";
}

TEST_F(PacerTest, SlowGrowthIsSeenThoughNoTwoLooksShowIt) {
  Instant at = kNow;
  see(at, 1_GiB, 1_GiB);
  at += kRamp;
  for (int look = 0; look < 12; ++look) see(at += kFast, 1_GiB + 4_MiB * look, 1_GiB);
  EXPECT_EQ(pacer_.next(at), std::nullopt) << "48 MiB are no growth";
  for (int look = 12; look < 20; ++look) see(at += kFast, 1_GiB + 4_MiB * look, 1_GiB);
  EXPECT_EQ(pacer_.next(at), kFast);
}

TEST_F(PacerTest, WhoHasAllThatWasGrantedCannotBeHurt) {
  see(kNow, 4_GiB, 1_GiB);
  EXPECT_EQ(pacer_.next(kNow), kFast);
  see(kNow + kFast, 4_GiB, 4_GiB - 64_MiB);  // that may be the rounding of its charge
  EXPECT_EQ(pacer_.next(kNow + kFast), std::nullopt);
  see(kNow + kFast * 2, 9_GiB, 1_GiB);
  EXPECT_EQ(pacer_.next(kNow + kFast * 2), kFast) << "one's surplus fills no other's charge";
}

TEST_F(PacerTest, JobsOfTheDriverAreNotWatched) {
  const Look look{
      .gpu = kGpu,
      .began = kNow,
      .sample = Sample{.total = 24_GiB, .used = 2_GiB, .processes = std::vector<GpuProcess>()},
      .owners = {}};
  pacer_.saw(look, engine_.view(), kNow, {JobId(1)});
  EXPECT_NE(pacer_.next(kNow), std::nullopt);
  pacer_.saw(look, engine_.view(), kNow, {JobId(1), JobId(2)});
  EXPECT_EQ(pacer_.next(kNow), std::nullopt);
}

}  // namespace
}  // namespace berth::live
