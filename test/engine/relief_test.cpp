// Goal: under pressure the tenants that took more than their grant end at once, even while others
// stop beside them; a job that died of it is told so and comes back with the same request.
//
// Method: one GPU of 24 GiB, tenants placed by hand, measurements told one by one.
#include <gtest/gtest.h>

#include "engine/rig.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;

class Relief : public testing::Test {
 protected:
  Relief() : rig_(nodes_of(1, 1)) {}

  JobId run(Bytes vram, std::int32_t retries = 0) {
    JobSpec spec = shared(1, vram);
    spec.retries = retries;
    return rig_.run(spec, {0});
  }
  const Effects& measure(std::vector<TenantUse> tenants) {
    Bytes used(0);
    for (const TenantUse& tenant : tenants) used += tenant.bytes;
    return rig_.tell({Measured{GpuId(0), Bytes(0), used, std::move(tenants)}});
  }
  const Effects& ran_out(JobId id, bool again_if_hurt = true) {
    return rig_.tell({AttemptEnded{.job = id,
                                   .attempt = rig_.attempt(id),
                                   .outcome = Outcome::Oom,
                                   .code = 1,
                                   .at = kNever,
                                   .again_if_hurt = again_if_hurt}});
  }
  static std::vector<std::uint64_t> ended_for_overrun(const Effects& effects) {
    std::vector<std::uint64_t> jobs;
    for (const Effect& effect : effects.list) {
      const auto* const stop = std::get_if<Stop>(&effect);
      if (stop != nullptr && stop->why == StopFor::Overrun) jobs.push_back(stop->job.value());
    }
    return jobs;
  }

  Rig rig_;
};

using Ids = std::vector<std::uint64_t>;

// ---- Who gives way ---------------------------------------------------------------------------

TEST_F(Relief, AnOverrunIsEndedWhileSomebodyElseStops) {
  run(12_GiB);
  const JobId small = run(64_MiB);
  const JobId greedy = run(8_GiB);
  rig_.tell({CancelAsked{small}});  // it may take its whole grace
  EXPECT_EQ(ended_for_overrun(measure({{greedy, 14_GiB}})), Ids({greedy.value()}));
}

TEST_F(Relief, AStopThatWillBeEnoughIsNotTrustedBeforeItsProcessIsGone) {
  run(4_GiB);
  const JobId large = run(8_GiB);
  const JobId greedy = run(4_GiB);
  rig_.tell({CancelAsked{large}});
  EXPECT_EQ(ended_for_overrun(measure({{greedy, 14_GiB}})), Ids({greedy.value()}));
}

TEST_F(Relief, MemoryOfAProcessThatIsGoneIsWaitedFor) {
  run(4_GiB);
  const JobId large = run(8_GiB);
  const JobId greedy = run(4_GiB);
  rig_.exited(large);
  const Effects& effects = measure({{greedy, 14_GiB}});
  EXPECT_EQ(ended_for_overrun(effects), Ids());
  rig_.released(large);
  EXPECT_EQ(rig_.state(greedy), JobState::Running);
}

TEST_F(Relief, MemoryThatDoesNotComeBackIsNotWaitedForLong) {
  run(4_GiB);
  const JobId large = run(8_GiB);
  const JobId greedy = run(4_GiB);
  rig_.exited(large);
  EXPECT_EQ(measure({{greedy, 14_GiB}}).wake_at, kStart + seconds(2));
  rig_.at(1);
  EXPECT_EQ(ended_for_overrun(rig_.tell({Ticked{}})), Ids());
  rig_.at(2);
  EXPECT_EQ(ended_for_overrun(rig_.tell({Ticked{}})), Ids({greedy.value()}));
}

TEST_F(Relief, TooLittleOnItsWaySparesNobody) {
  run(12_GiB);
  const JobId small = run(1_GiB);
  const JobId greedy = run(4_GiB);
  rig_.exited(small);
  EXPECT_EQ(ended_for_overrun(measure({{greedy, 14_GiB}})), Ids({greedy.value()}));
}

TEST_F(Relief, TheLargestOverrunGoesFirstAndTheOthersWhileItIsNotEnough) {
  run(10_GiB);
  const JobId little = run(4_GiB);
  const JobId large = run(4_GiB);
  EXPECT_EQ(ended_for_overrun(measure({{little, 5_GiB}, {large, 12_GiB}})), Ids({large.value()}));
  EXPECT_EQ(ended_for_overrun(measure({{little, 16_GiB}})), Ids({little.value()}));
}

TEST_F(Relief, ATenantThatOverrunsDuringItsGraceIsKilled) {
  run(12_GiB);
  const JobId greedy = run(8_GiB);
  rig_.tell({CancelAsked{greedy}});
  EXPECT_EQ(ended_for_overrun(measure({{greedy, 14_GiB}})), Ids({greedy.value()}));
  EXPECT_EQ(ended_for_overrun(measure({{greedy, 15_GiB}})), Ids()) << "once";
  rig_.exited(greedy, Outcome::Oom);
  EXPECT_EQ(only<Finished>(rig_.released(greedy))->outcome, Outcome::Cancelled);
}

TEST_F(Relief, ARestoredEngineWaitsAsTheSavedOneDoes) {
  run(4_GiB);
  const JobId large = run(8_GiB);
  const JobId greedy = run(4_GiB);
  rig_.exited(large);
  measure({{greedy, 14_GiB}});
  auto restored = Engine::restore(rig_.engine().save(), std::make_unique<Script>());
  ASSERT_TRUE(restored.has_value()) << restored.error().message;
  const std::vector<Input> tick{Ticked{}};
  EXPECT_EQ(restored->step(kStart + seconds(1), tick).wake_at, kStart + seconds(2));
  EXPECT_EQ(ended_for_overrun(restored->step(kStart + seconds(2), tick)), Ids({greedy.value()}));
}

// ---- Who was hurt ----------------------------------------------------------------------------

/// A job of 8 GiB that died beside one that holds 14 and was granted 4, which is seen afterwards.
class Victim : public Relief {
 protected:
  Victim() : victim_(run(8_GiB, 1)), greedy_(run(4_GiB)) {}

  void die(bool again_if_hurt = true) {
    ran_out(victim_, again_if_hurt);
    measure({{greedy_, 18_GiB}});
  }

  JobId victim_;
  JobId greedy_;
};

TEST_F(Victim, ComesBackAsItWas) {
  rig_.at(5);
  die();
  const Effects& effects = rig_.released(victim_);
  const auto* const hurt = only<Hurt>(effects);
  ASSERT_NE(hurt, nullptr);
  EXPECT_TRUE(hurt->runs_again);
  EXPECT_EQ(hurt->by.job, greedy_);
  EXPECT_EQ(hurt->by.user, UserId(7));
  EXPECT_EQ(hurt->by.held, 18_GiB);
  EXPECT_EQ(hurt->by.granted, 4_GiB);
  EXPECT_EQ(rig_.state(victim_), JobState::Queued);
  EXPECT_EQ(rig_.job(victim_).submitted, kStart);
  EXPECT_EQ(rig_.job(victim_).spec.request.gpu.vram, 8_GiB);
  EXPECT_EQ(rig_.job(victim_).retries_used, 0);
}

TEST_F(Victim, GetsItsPlaceBack) {
  ran_out(victim_);
  EXPECT_EQ(ended_for_overrun(measure({{greedy_, 18_GiB}})), Ids({greedy_.value()}));
}

TEST_F(Victim, KnowsItFromAnOverrunThatIsOver) {
  measure({{greedy_, 18_GiB}});
  rig_.exited(greedy_, Outcome::Oom);
  rig_.released(greedy_);
  rig_.at(60);
  ran_out(victim_);
  EXPECT_NE(only<Hurt>(rig_.released(victim_)), nullptr);
}

TEST_F(Victim, OfAnOverrunLongAgoIsNone) {
  measure({{greedy_, 18_GiB}});
  rig_.exited(greedy_, Outcome::Oom);
  rig_.released(greedy_);
  rig_.at(61);
  ran_out(victim_);
  rig_.released(victim_);
  EXPECT_EQ(rig_.job(victim_).spec.request.gpu.vram, 12_GiB) << "its own fault: it asks for more";
  EXPECT_EQ(rig_.job(victim_).retries_used, 1);
}

TEST_F(Victim, WithoutPressureIsNone) {
  ran_out(victim_);
  measure({{greedy_, 12_GiB}});  // beyond its grant, and all of the 8 GiB are there
  rig_.released(victim_);
  EXPECT_EQ(rig_.job(victim_).retries_used, 1);
}

TEST_F(Victim, ThatTookTooMuchItselfIsNone) {
  measure({{victim_, 9_GiB}});
  die();
  rig_.released(victim_);
  EXPECT_EQ(rig_.job(victim_).retries_used, 1);
}

TEST_F(Victim, UsesUpATryWhereItMayNotComeBackByItself) {
  die(false);
  EXPECT_TRUE(only<Hurt>(rig_.released(victim_))->runs_again);
  EXPECT_EQ(rig_.job(victim_).spec.request.gpu.vram, 8_GiB);
  EXPECT_EQ(rig_.job(victim_).retries_used, 1);
}

TEST_F(Victim, EndsWithoutAnyTryLeft) {
  const JobId other = run(4_GiB);
  ran_out(other, false);
  measure({{greedy_, 18_GiB}});
  const Effects& effects = rig_.released(other);
  EXPECT_FALSE(only<Hurt>(effects)->runs_again);
  EXPECT_EQ(only<Finished>(effects)->outcome, Outcome::Oom);
}

TEST_F(Victim, MayBeCancelledBeforeItComesBack) {
  die();
  rig_.tell({CancelAsked{victim_}});
  EXPECT_EQ(only<Finished>(rig_.released(victim_))->outcome, Outcome::Cancelled);
}

// ---- Memory of a GPU that a job was not given ------------------------------------------------

/// Two GPUs; a job of 20 GiB on the first, and one of 2 GiB on the second that also takes memory of
/// the first, where it counts as foreign.
class Trespass : public testing::Test {
 protected:
  Trespass()
      : rig_(nodes_of(1, 2)),
        honest_(rig_.run(shared(1, 20_GiB), {0})),
        culprit_(rig_.run(shared(1, 2_GiB), {1})) {}

  const Effects& see(Bytes taken, Bytes honest) {
    return rig_.tell({Measured{.gpu = GpuId(0),
                               .foreign = taken,
                               .used = taken + honest,
                               .tenants = {{honest_, honest}, {culprit_, taken}}}});
  }

  Rig rig_;
  JobId honest_;
  JobId culprit_;
};

TEST_F(Trespass, EndsTheJob) {
  const auto* const stop = only<Stop>(see(10_GiB, 4_GiB));
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->job, culprit_);
  EXPECT_EQ(stop->why, StopFor::Trespass);
  EXPECT_TRUE(see(10_GiB, 4_GiB).list.empty()) << "once";
  rig_.exited(culprit_, Outcome::Failed, 137);
  EXPECT_EQ(only<Finished>(rig_.released(culprit_))->outcome, Outcome::Failed);
  EXPECT_EQ(rig_.state(honest_), JobState::Running);
}

TEST_F(Trespass, EndsTheJobWhereNobodyLacksTheMemory) {
  EXPECT_NE(only<Stop>(see(1_GiB, 4_GiB)), nullptr);
}

TEST_F(Trespass, OfLessThanAStepIsNone) { EXPECT_TRUE(see(1_MiB, 4_GiB).list.empty()); }

TEST_F(Trespass, WithinTheGuardBandIsLeftWhileNobodyLacksTheMemory) {
  EXPECT_TRUE(see(256_MiB, 4_GiB).list.empty());
  const JobId alone = rig_.submit(whole(1));
  rig_.tell({CancelAsked{honest_}});
  rig_.exited(honest_, Outcome::Failed);
  rig_.released(honest_);
  rig_.tell({Measured{.gpu = GpuId(0)}});
  rig_.start(alone, {0});
  honest_ = alone;
  EXPECT_EQ(only<Stop>(see(256_MiB, 4_GiB))->job, culprit_) << "all of it was granted to another";
}

TEST_F(Trespass, GivesNoSecondTry) {
  JobSpec spec = shared(1, 2_GiB);
  spec.retries = 5;
  culprit_ = rig_.run(spec, {1});
  see(10_GiB, 4_GiB);
  rig_.exited(culprit_, Outcome::Oom, 137);
  EXPECT_EQ(only<Finished>(rig_.released(culprit_))->outcome, Outcome::Failed);
}

TEST_F(Trespass, LetsTheHurtJobRunAgainAndNamesTheOther) {
  see(10_GiB, 14_GiB);
  rig_.tell({AttemptEnded{.job = honest_,
                          .attempt = Attempt(1),
                          .outcome = Outcome::Oom,
                          .at = kNever,
                          .again_if_hurt = true}});
  see(10_GiB, Bytes(0));  // its memory is not back yet
  const auto* const hurt = only<Hurt>(rig_.released(honest_));
  ASSERT_NE(hurt, nullptr);
  EXPECT_EQ(hurt->by.job, culprit_);
  EXPECT_EQ(hurt->by.held, 10_GiB);
  EXPECT_EQ(hurt->by.granted, Bytes(0));
  EXPECT_TRUE(hurt->runs_again);
  EXPECT_EQ(rig_.state(honest_), JobState::Queued);
  EXPECT_EQ(rig_.job(honest_).retries_used, 0);
}

TEST_F(Trespass, EndsAJobThatIsBeingSuspended) {
  rig_.preempt(culprit_, PreemptHow::Suspend);
  EXPECT_EQ(only<Stop>(see(10_GiB, 4_GiB))->why, StopFor::Trespass);
  rig_.exited(culprit_, Outcome::Failed, 137);
  EXPECT_EQ(only<Finished>(rig_.released(culprit_))->outcome, Outcome::Failed);
}

TEST(TrespassElsewhere, IsNothingWhereMemoryIsNotGuaranteed) {
  Settings settings;
  settings.admission.mode = AdmissionMode::Declared;
  Rig rig(nodes_of(1, 2), settings);
  const JobId id = rig.run(shared(1, 2_GiB), {1});
  EXPECT_TRUE(rig.tell({Measured{.gpu = GpuId(0), .foreign = 9_GiB, .tenants = {{id, 9_GiB}}}})
                  .list.empty());
}

// ---- Foreign use -----------------------------------------------------------------------------

class Foreign : public Relief {
 protected:
  const Effects& see(Bytes foreign) {
    return rig_.tell({Measured{.gpu = GpuId(0), .foreign = foreign, .used = foreign}});
  }
};

TEST_F(Foreign, UseIsBlamedAndTheRequestStays) {
  const JobId id = run(20_GiB, 1);
  see(10_GiB);
  ran_out(id);
  const auto* const hurt = only<Hurt>(rig_.released(id));
  ASSERT_NE(hurt, nullptr);
  EXPECT_EQ(hurt->by.job, JobId(0));
  EXPECT_EQ(hurt->by.held, 10_GiB);
  EXPECT_TRUE(hurt->runs_again);
  EXPECT_EQ(rig_.job(id).spec.request.gpu.vram, 20_GiB);
  EXPECT_EQ(rig_.job(id).retries_used, 1) << "it may come again each time";
}

TEST_F(Foreign, UseIsBlamedWhereNoTryIsLeft) {
  const JobId id = run(20_GiB);
  see(10_GiB);
  ran_out(id);
  const Effects& effects = rig_.released(id);
  EXPECT_FALSE(only<Hurt>(effects)->runs_again);
  EXPECT_EQ(only<Finished>(effects)->outcome, Outcome::Oom);
}

TEST_F(Foreign, UseThatFitsBesideTheChargeIsNotBlamed) {
  const JobId id = run(8_GiB, 1);
  see(10_GiB);
  ran_out(id);
  rig_.released(id);
  EXPECT_EQ(rig_.job(id).spec.request.gpu.vram, 12_GiB);
}

// ---- A surplus that others wait for ----------------------------------------------------------

TEST_F(Relief, ASurplusIsGivenBackWhereItIsAskedFor) {
  const JobId greedy = run(4_GiB, 1);
  measure({{greedy, 16_GiB}});
  EXPECT_EQ(rig_.state(greedy), JobState::Running) << "there is room";
  EXPECT_EQ(only<Stop>(rig_.tell({SurplusAsked{greedy, Attempt(1)}}))->why, StopFor::Surplus);
  rig_.exited(greedy, Outcome::Oom, 137);
  rig_.released(greedy);
  EXPECT_EQ(rig_.state(greedy), JobState::Queued);
  EXPECT_GE(rig_.job(greedy).spec.request.gpu.vram, 15_GiB) << "by what it held";
}

TEST_F(Relief, AJobWithinItsGrantHasNothingToGiveBack) {
  const JobId id = run(4_GiB);
  measure({{id, 4_GiB}});
  EXPECT_TRUE(rig_.tell({SurplusAsked{id, Attempt(1)}, SurplusAsked{id, Attempt(9)},
                         SurplusAsked{JobId(77), Attempt(1)}})
                  .list.empty());
}

}  // namespace
}  // namespace berth::test
