// Goal: under the gate idle a job joins a busy GPU when it has waited, and not before; nothing but
// time need happen.
// Method: an engine with one GPU and a tenant whose utilisation is reported.
#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "engine/forecast.hpp"
#include "policy/registry.hpp"

namespace berth {
namespace {

using namespace berth::literals;

class IdleGate : public testing::Test {
 protected:
  static constexpr const char* kPolicy = "fifo-skip+idle:share_after=3m";

  IdleGate() : engine_(cluster(), {}, *make_policy(kPolicy, "first-fit")) {
    step(kStart, {job(1)});
  }

  static Cluster cluster() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n0", .gpus = 1, .vram = 24_GiB});
    return cluster;
  }
  static Submitted job(std::uint64_t id, Duration estimate = kForever, Duration limit = kForever) {
    Submitted submitted{.job = JobId(id), .spec = {.time_limit = limit, .estimate = estimate}};
    submitted.spec.request.gpu.count = 1_gpus;
    submitted.spec.request.gpu.vram = 4_GiB;
    return submitted;
  }
  static Submitted at_once(Submitted job) {
    job.spec.request.gpu.sharing = Sharing::AtOnce;
    return job;
  }
  void step(Instant now, std::vector<Input> inputs) { engine_.step(now, inputs); }
  void utilisation(std::int16_t percent, Instant at = kStart) {
    step(at, {Measured{.gpu = GpuId(0), .utilisation = percent}});
  }
  bool has_berth(std::uint64_t id) const {
    return holds_berth(engine_.view().find(JobId(id))->state);
  }

  Engine engine_;
};

TEST_F(IdleGate, AnIdleGpuIsSharedAtOnce) {
  const Instant later = kStart + minutes(1);
  utilisation(74, later);
  step(later, {job(2)});
  EXPECT_TRUE(has_berth(2));
}

TEST_F(IdleGate, AStartThatTimeAloneBringsRestsOnNoJobsEnd) {
  utilisation(0);
  step(kStart, {job(2), job(3)});
  auto copy = Engine::restore(engine_.save(), *make_policy(kPolicy, "first-fit"));
  ASSERT_TRUE(copy);
  const Forecast found = forecast(std::move(*copy), JobId(3), {});
  EXPECT_EQ(found.start, kStart + minutes(2));  // a minute after job 2, which starts after one
  EXPECT_EQ(found.before_count, 1U);
  EXPECT_EQ(found.text, "no job has to end before");
}

TEST_F(IdleGate, NothingIsKnownOfAJobThatHasJustBegun) {
  utilisation(0);
  step(kStart, {job(2)});
  EXPECT_FALSE(has_berth(2));
  EXPECT_EQ(engine_.effects().wake_at, kStart + minutes(1));
  step(kStart + minutes(1), {});
  EXPECT_TRUE(has_berth(2));
}

TEST_F(IdleGate, NorOfOneThatBeginsInTheSamePass) {
  const Instant later = kStart + minutes(1);
  utilisation(0, later);
  step(later, {job(2), job(3)});
  EXPECT_TRUE(has_berth(2));
  EXPECT_FALSE(has_berth(3));
  EXPECT_EQ(engine_.effects().wake_at, later + minutes(1));
}

TEST_F(IdleGate, AJobThatSharesAtOnceIsNotHeld) {
  utilisation(0);
  step(kStart, {job(2), at_once(job(3))});  // the first one has just begun
  EXPECT_FALSE(has_berth(2));
  EXPECT_TRUE(has_berth(3)) << "nor does it stand behind the other, which asks for as much";
  utilisation(100, kStart + seconds(1));
  step(kStart + seconds(1), {at_once(job(4))});
  EXPECT_TRUE(has_berth(4));
}

TEST_F(IdleGate, NorOneThatSaysSoWhileItWaits) {
  utilisation(100);
  step(kStart, {job(2)});
  ASSERT_FALSE(has_berth(2));
  step(kStart, {Updated{.job = JobId(2), .spec = at_once(job(2)).spec}});
  EXPECT_TRUE(has_berth(2));
}

TEST_F(IdleGate, AnUnknownRunTimeCountsAsMinutes) {
  Engine engine(cluster(), {}, *make_policy("fifo-skip+idle", "first-fit"));
  const auto tell = [&](const Input& input) { engine.step(kStart, std::vector<Input>{input}); };
  const auto until = [&](std::uint64_t id) {
    return engine.refused(JobId(id)).value_or(Refused{}).refusal.until;
  };
  tell(job(1));
  tell(Measured{.gpu = GpuId(0), .utilisation = 100});
  Submitted of_long = job(3);
  of_long.spec.duration_class = DurationClass::Long;
  tell(of_long);
  tell(job(2));
  EXPECT_EQ(until(2), kStart + minutes(5));
  EXPECT_EQ(until(3), kStart + hours(6)) << "it has said that it is long";
}

TEST_F(IdleGate, AShortJobDoesNotWaitUntilThatIsKnown) {
  utilisation(0);
  step(kStart, {job(2, minutes(2))});
  EXPECT_EQ(engine_.effects().wake_at, kStart + seconds(30));
}

TEST_F(IdleGate, ABusyOneAfterTheWaitThoughNothingHappens) {
  utilisation(75);
  step(kStart, {job(2)});
  EXPECT_FALSE(has_berth(2));
  EXPECT_EQ(engine_.effects().wake_at, kStart + minutes(3));
  const auto refused = engine_.refused(JobId(2));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->refusal.why, Why::Patience);
  EXPECT_EQ(refused->refusal.until, kStart + minutes(3));
  step(kStart + minutes(1), {job(3)});  // a pass that need not look at the second job again
  EXPECT_EQ(engine_.effects().wake_at, kStart + minutes(3));
  step(kStart + minutes(3), {});
  EXPECT_TRUE(has_berth(2));
  EXPECT_FALSE(has_berth(3));
}

TEST_F(IdleGate, ABusyOneSoonerTheShorterTheJob) {
  utilisation(75);
  step(kStart, {job(2, minutes(4))});
  EXPECT_EQ(engine_.effects().wake_at, kStart + minutes(1));
  step(kStart + minutes(1), {});
  EXPECT_TRUE(has_berth(2));
}

TEST_F(IdleGate, WaitsLongerWhereSharingWouldBreakALimit) {
  utilisation(75);
  step(kStart, {job(2, minutes(2), minutes(3))});  // four minutes beside the first
  EXPECT_EQ(engine_.effects().wake_at, kStart + minutes(2));
}

TEST_F(IdleGate, WaitsLongerWhereItWouldBreakATenantsLimit) {
  step(kStart, {job(2, minutes(2), minutes(5))});  // it may share with one, not with two
  ASSERT_TRUE(has_berth(2));
  utilisation(75);
  step(kStart, {job(3, minutes(2))});
  EXPECT_EQ(engine_.effects().wake_at, kStart + minutes(2));
}

TEST_F(IdleGate, LetsJobsTogetherWhoseLimitsAreLongEnough) {
  step(kStart, {job(2, minutes(2), minutes(6))});
  ASSERT_TRUE(has_berth(2));
  utilisation(75);
  step(kStart, {job(3, minutes(2), minutes(6))});
  EXPECT_EQ(engine_.effects().wake_at, kStart + seconds(30));
}

}  // namespace
}  // namespace berth
