// Goal: a process that was started by hand becomes a job whose charge is what was foreign use; the
// admission inequality holds afterwards, and nothing moves, suspends or restarts it.
//
// Method: two GPUs of 24 GiB, foreign use told by hand, decisions of a policy that says anything.
#include "engine/adoption.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/rig.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;
using testing::HasSubstr;

constexpr JobId kAdopted(40);

class AdoptionOfProcesses : public testing::Test {
 protected:
  AdoptionOfProcesses() : rig_(nodes_of(1, 2)) {}

  const Effects& foreign(std::uint32_t gpu, Bytes bytes) {
    return rig_.tell({Measured{.gpu = GpuId(gpu), .foreign = bytes, .used = bytes}});
  }
  static Adopted adoption(std::vector<AdoptedShare> shares) {
    const auto gpus = static_cast<std::int64_t>(shares.size());
    const Bytes vram = shares.empty() ? 1_GiB : shares.front().charge;
    return {.job = kAdopted, .spec = shared(gpus, vram), .shares = std::move(shares)};
  }
  const Effects& adopt(std::vector<AdoptedShare> shares) {
    return rig_.tell({adoption(std::move(shares))});
  }
  void adopt_and_run(std::vector<AdoptedShare> shares) {
    adopt(std::move(shares));
    rig_.tell({Started{kAdopted, Attempt(1)}});
    ASSERT_EQ(rig_.state(kAdopted), JobState::Running);
  }
  void expect_refused(const Effects& effects, const char* why) {
    const auto* const finished = only<Finished>(effects);
    ASSERT_NE(finished, nullptr);
    EXPECT_EQ(finished->outcome, Outcome::Rejected);
    EXPECT_THAT(finished->note, HasSubstr(why));
    EXPECT_FALSE(rig_.knows(kAdopted));
  }
  /// Of another user.
  JobId neighbour(JobSpec spec) {
    spec.user = UserId(8);
    return rig_.run(spec, {0});
  }

  Rig rig_;
};

TEST_F(AdoptionOfProcesses, WhatItHoldsWasForeignUseAndIsItsCharge) {
  foreign(0, 12_GiB);
  const Effects& effects = adopt({{GpuId(0), 10_GiB, 10_GiB}});
  const auto* const launch = only<Launch>(effects);
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->attempt, Attempt(1));
  EXPECT_EQ(launch->grant.shares, (std::vector<Share>{{GpuId(0), 10_GiB, 10_GiB}}));
  EXPECT_EQ(rig_.gpu(0).foreign, 2_GiB);
  EXPECT_EQ(rig_.gpu(0).charged, 10_GiB);
  EXPECT_EQ(rig_.account().charges, 10_GiB);
  EXPECT_EQ(rig_.state(kAdopted), JobState::Starting);
}

TEST_F(AdoptionOfProcesses, EachOfItsGpusHasItsOwnCharge) {
  foreign(0, 20_GiB);
  foreign(1, 1_GiB);
  adopt({{GpuId(0), 20_GiB, 21_GiB}, {GpuId(1), 1_GiB, 2_GiB}});
  EXPECT_EQ(rig_.gpu(0).charged, 21_GiB);
  EXPECT_EQ(rig_.gpu(1).charged, 2_GiB);
}

TEST_F(AdoptionOfProcesses, ItIsDoneWhenItEnds) {
  foreign(0, 10_GiB);
  adopt_and_run({{GpuId(0), 10_GiB, 10_GiB}});
  rig_.exited(kAdopted);
  expect_finished(rig_, rig_.released(kAdopted), kAdopted, Outcome::Done);
  EXPECT_EQ(rig_.gpu(0).charged, Bytes(0));
}

TEST_F(AdoptionOfProcesses, ItsUserCancelsItAndItsTimeLimitEndsIt) {
  foreign(0, 10_GiB);
  adopt_and_run({{GpuId(0), 10_GiB, 10_GiB}});
  EXPECT_EQ(only<Stop>(rig_.tell({CancelAsked{kAdopted}}))->how, PreemptHow::Kill);
  rig_.exited(kAdopted);
  expect_finished(rig_, rig_.released(kAdopted), kAdopted, Outcome::Cancelled);
  Adopted limited = adoption({{GpuId(0), 0_GiB, 10_GiB}});
  limited.spec.time_limit = seconds(60);
  rig_.tell({limited});
  rig_.tell({Started{kAdopted, Attempt(1)}});
  EXPECT_EQ(only<Stop>(rig_.at(60).tell({Ticked{}}))->why, StopFor::TimeLimit);
}

// ---- The inequality --------------------------------------------------------------------------

TEST_F(AdoptionOfProcesses, AChargeThatOthersWerePromisedIsRefused) {
  neighbour(shared(1, 12_GiB));
  foreign(0, 10_GiB);
  expect_refused(adopt({{GpuId(0), 10_GiB, 12_GiB}}),
                 "GPU 0: the process holds 10 GiB, is to be charged 12 GiB, and beside what others "
                 "hold and were promised there is room for 11.5 GiB");
  EXPECT_EQ(rig_.gpu(0).foreign, 10_GiB);
  EXPECT_EQ(rig_.gpu(0).tenants, 1);
}

TEST_F(AdoptionOfProcesses, WhatFitsExactlyIsTakenBesideOthers) {
  neighbour(shared(1, 12_GiB));
  foreign(0, 10_GiB);
  const AdoptedShare share{GpuId(0), 10_GiB, 10_GiB};
  const Bytes room = room_for_adopted(rig_.engine().view(), share);
  expect_refused(adopt({{GpuId(0), 10_GiB, room + Bytes(1)}}), "there is room for");
  adopt({{GpuId(0), 10_GiB, room}});
  ASSERT_TRUE(rig_.knows(kAdopted));
  EXPECT_EQ(rig_.gpu(0).foreign + rig_.gpu(0).charged,
            rig_.cluster().gpu(GpuId(0)).capacity - 512_MiB);
}

TEST_F(AdoptionOfProcesses, WhatOthersHoldIsNotForgottenWhereItWasNotToldWithIt) {
  foreign(0, 10_GiB);
  adopt({{GpuId(0), 8_GiB, 8_GiB, 10_GiB}});  // it came after the last figure
  EXPECT_EQ(rig_.gpu(0).foreign, 10_GiB);
}

TEST_F(AdoptionOfProcesses, WhatNobodyCouldHoldIsForeignAgain) {
  foreign(0, 10_GiB);
  adopt({{GpuId(0), 10_GiB, 12_GiB}});
  expect_finished(rig_, rig_.tell({StartFailed{kAdopted, Attempt(1)}}), kAdopted, Outcome::Failed);
  EXPECT_EQ(rig_.gpu(0).foreign, 12_GiB);
}

/// Another that came meanwhile was taken for it, as far as its charge goes.
TEST_F(AdoptionOfProcesses, WhatWentBeforeAShimHeldItIsForeignUntilALook) {
  foreign(0, 10_GiB);
  adopt({{GpuId(0), 10_GiB, 12_GiB}});
  rig_.exited(kAdopted, Outcome::Failed, 125);
  expect_finished(rig_, rig_.released(kAdopted), kAdopted, Outcome::Failed);
  EXPECT_EQ(rig_.gpu(0).foreign, 12_GiB);
}

TEST_F(AdoptionOfProcesses, AGpuThatTakesNoOtherIsRefused) {
  neighbour(whole(1));
  foreign(0, 1_GiB);
  expect_refused(adopt({{GpuId(0), 1_GiB, 1_GiB}}), "GPU 0: has 1 job, and takes no other beside");
  rig_.tell({Drained{GpuId(1), Drain{.until = kNever, .by = {}, .reason = "fan"}}});
  foreign(1, 1_GiB);
  expect_refused(adopt({{GpuId(1), 1_GiB, 1_GiB}}), "GPU 1: takes no jobs now");
}

TEST_F(AdoptionOfProcesses, WhatIsReservedForOthersIsRefusedOnceThatHasBegun) {
  Reservation later{.gpus = {GpuId(0)}, .users = {UserId(8)}, .from = kStart + seconds(100)};
  later.until = kStart + seconds(200);
  later.shown = "ops";
  rig_.tell({Reserved{ReservationId(1), later}});
  foreign(0, 1_GiB);
  rig_.at(100);
  expect_refused(adopt({{GpuId(0), 1_GiB, 1_GiB}}), "GPU 0: is reserved for others now");
}

TEST_F(AdoptionOfProcesses, ItsUsersLimitHolds) {
  Settings settings;
  settings.limits.gpus = GpuCount(1);
  rig_.tell({Configured{settings}});
  rig_.run(shared(1, 1_GiB), {1});
  foreign(0, 1_GiB);
  expect_refused(adopt({{GpuId(0), 1_GiB, 1_GiB}}), "its user may hold no more (user_gpus)");
}

TEST_F(AdoptionOfProcesses, WhatMakesNoSenseIsRefused) {
  expect_refused(adopt({}), "holds no GPU memory");
  expect_refused(adopt({{GpuId(7), 1_GiB, 1_GiB}}), "holds no GPU memory");
  expect_refused(adopt({{GpuId(0), 2_GiB, 1_GiB}}), "holds no GPU memory");
  expect_refused(adopt({{GpuId(1), 1_GiB, 1_GiB}, {GpuId(0), 1_GiB, 1_GiB}}), "holds no");
  Adopted other = adoption({{GpuId(0), 1_GiB, 1_GiB}});
  other.spec.request.gpu.count = GpuCount(2);
  expect_refused(rig_.tell({other}), "does not ask for the GPUs that it holds");
  JobSpec spec = shared(1, 1_GiB);
  spec.conditions.edit().adopted = true;
  rig_.tell({Submitted{.job = kAdopted, .spec = spec}});
  EXPECT_FALSE(rig_.knows(kAdopted));
}

// ---- It stays --------------------------------------------------------------------------------

TEST_F(AdoptionOfProcesses, NoPolicyAndNoUserMovesIt) {
  foreign(0, 10_GiB);
  adopt_and_run({{GpuId(0), 10_GiB, 10_GiB}});
  EXPECT_TRUE(rig_.engine().view().is_left_alone(rig_.engine().view().job(kAdopted)));
  const auto there = on(rig_.cluster(), {0});
  EXPECT_TRUE(rig_.decide({Preempt{.job = kAdopted}}).list.empty());
  EXPECT_TRUE(
      rig_.decide({Migrate{.job = kAdopted, .placement = on(rig_.cluster(), {1})}}).list.empty());
  EXPECT_TRUE(rig_.tell({SuspendAsked{kAdopted}}).list.empty());
  rig_.decide({Start{.job = kAdopted, .placement = there, .term = seconds(10)}});
  EXPECT_TRUE(rig_.at(20).tell({Ticked{}}).list.empty());
  Updated updated{.job = kAdopted, .spec = rig_.job(kAdopted).spec};
  updated.spec.suspending = Suspending::Yes;
  rig_.tell({updated});
  EXPECT_EQ(rig_.job(kAdopted).spec.suspending, Suspending::No);
  EXPECT_EQ(rig_.state(kAdopted), JobState::Running);
}

TEST_F(AdoptionOfProcesses, NothingStartsItAgain) {
  Adopted hopeful = adoption({{GpuId(0), 0_GiB, 10_GiB}});
  hopeful.spec.retries = 3;
  hopeful.spec.conditions.edit().requeues = 3;
  hopeful.spec.conditions.edit().requeue_on_gpu_failure = true;
  rig_.tell({hopeful});
  expect_finished(rig_, rig_.tell({StartFailed{kAdopted, Attempt(1)}}), kAdopted, Outcome::Failed);
  rig_.tell({hopeful});
  rig_.tell({Started{kAdopted, Attempt(1)}});
  EXPECT_TRUE(rig_.tell({GpuLost{GpuId(0)}}).list.empty());
  rig_.tell({AttemptEnded{.job = kAdopted,
                          .attempt = Attempt(1),
                          .outcome = Outcome::Oom,
                          .code = 1,
                          .at = kNever,
                          .again_if_hurt = true}});
  expect_finished(rig_, rig_.released(kAdopted), kAdopted, Outcome::Oom);
}

TEST_F(AdoptionOfProcesses, ASuspensionThatWasToldByMistakeEndsIt) {
  adopt({{GpuId(0), 0_GiB, 10_GiB}});
  rig_.tell({ResumeFailed{kAdopted, Attempt(1)}});
  EXPECT_FALSE(rig_.knows(kAdopted));
}

TEST_F(AdoptionOfProcesses, ItsGrowthIsAnOverrunLikeAnyOther) {
  neighbour(shared(1, 12_GiB));
  foreign(0, 8_GiB);
  adopt_and_run({{GpuId(0), 8_GiB, 8_GiB}});
  const Effects& effects = rig_.tell({Measured{
      .gpu = GpuId(0), .foreign = Bytes(0), .used = 14_GiB, .tenants = {{kAdopted, 14_GiB}}}});
  EXPECT_EQ(only<Stop>(effects)->why, StopFor::Overrun);
  rig_.exited(kAdopted);
  expect_finished(rig_, rig_.released(kAdopted), kAdopted, Outcome::Oom);
}

TEST_F(AdoptionOfProcesses, ARestoredEngineKnowsThatItStays) {
  foreign(0, 10_GiB);
  adopt_and_run({{GpuId(0), 10_GiB, 10_GiB}});
  auto restored = Engine::restore_state(rig_.engine().save(), std::make_unique<Script>());
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_TRUE(is_adopted(restored->view().find(kAdopted)->spec));
  EXPECT_TRUE(
      restored->step(kStart + seconds(1), std::vector<Input>{SuspendAsked{kAdopted}}).list.empty());
}

}  // namespace
}  // namespace berth::test
