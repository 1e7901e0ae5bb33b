// Goal: GPUs that are reserved for users take no job of another that could be there in that time,
// whatever a policy says, and are as any other before and after.
// Method: a policy that says what the test tells it to; times worked out by hand.
#include <gtest/gtest.h>

#include "engine/rig.hpp"
#include "policy/registry.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;

constexpr UserId kAlice{8};

/// For alice from 100 to 200.
Reserved reserved(std::uint32_t number, std::vector<GpuId> gpus) {
  return {.id = ReservationId(number),
          .reservation = {.gpus = std::move(gpus),
                          .users = {kAlice},
                          .from = kStart + seconds(100),
                          .until = kStart + seconds(200)}};
}

JobSpec limited(JobSpec spec, Duration limit) {
  spec.time_limit = limit;
  return spec;
}

JobSpec of_alice(JobSpec spec) {
  spec.user = kAlice;
  return spec;
}

/// Two GPUs, of which alice has the first.
class Calendar : public testing::Test {
 protected:
  Calendar() { rig_.tell({reserved(1, {GpuId(0)})}); }

  /// Whether the engine lets the job start there now.
  bool starts(JobId id, std::initializer_list<std::uint32_t> gpus) {
    rig_.start(id, gpus);
    return rig_.state(id) == JobState::Starting;
  }

  Rig rig_{nodes_of(1, 2)};
};

TEST_F(Calendar, AJobOfAnotherStartsThereOnlyIfItsTimeLimitEndsItBefore) {
  const JobId endless = rig_.submit(whole(1));
  const JobId brief = rig_.submit(limited(whole(1), seconds(60)));
  EXPECT_FALSE(starts(endless, {0}));
  EXPECT_TRUE(starts(brief, {0}));
  EXPECT_TRUE(starts(endless, {1}));
}

TEST_F(Calendar, TheLastInstantIsThatFromWhichTheLimitEndsWhenItBegins) {
  const JobId early = rig_.submit(limited(shared(1, 4_GiB), seconds(60)));
  const JobId late = rig_.submit(limited(shared(1, 4_GiB), seconds(60)));
  rig_.at(40);
  EXPECT_TRUE(starts(early, {0}));
  rig_.at(41);
  EXPECT_FALSE(starts(late, {0}));
  EXPECT_EQ(rig_.engine().dropped(), 1U);
  rig_.at(150);
  EXPECT_FALSE(starts(late, {0}));
  rig_.at(200);
  EXPECT_TRUE(starts(late, {0}));
}

TEST_F(Calendar, ItsUserStartsThereAtAnyTimeAndSharesItWithNobodyElse) {
  EXPECT_TRUE(starts(rig_.submit(of_alice(shared(1, 4_GiB))), {0}));
  rig_.at(150);
  EXPECT_TRUE(starts(rig_.submit(of_alice(shared(1, 4_GiB))), {0}));
  EXPECT_FALSE(starts(rig_.submit(limited(shared(1, 4_GiB), seconds(1))), {0}));
}

TEST_F(Calendar, AGangNeedsNoGpuOfIt) {
  const JobId both = rig_.submit(whole(2));
  EXPECT_FALSE(starts(both, {0, 1}));
  rig_.tell({Unreserved{ReservationId(1)}});
  EXPECT_TRUE(starts(both, {0, 1}));
}

TEST_F(Calendar, AJobThatHasABerthKeepsIt) {
  const JobId there = rig_.run(whole(1), {1});
  rig_.tell({reserved(2, {GpuId(1)})});
  rig_.at(150).tell({});
  EXPECT_EQ(rig_.state(there), JobState::Running);
  rig_.preempt(there, PreemptHow::Suspend);
  rig_.released(there);
  ASSERT_EQ(rig_.state(there), JobState::Suspended);
  EXPECT_FALSE(starts(there, {1}));
}

TEST_F(Calendar, AJobWithoutGpusDoesNotCare) {
  rig_.at(150);
  EXPECT_TRUE(starts(rig_.submit(shared(0, Bytes(0))), {}));
}

TEST_F(Calendar, WakesWhenAJobIsBarredAndWhenItIsOver) {
  const JobId job = rig_.submit(limited(whole(1), seconds(60)));
  EXPECT_EQ(rig_.engine().effects().wake_at, kStart + seconds(40) + Duration(1));
  EXPECT_EQ(rig_.job(job).barred, 0U);
  rig_.at(41).tell({});
  EXPECT_EQ(rig_.job(job).barred, bit_of(ReservationId(1)));
  EXPECT_EQ(rig_.engine().effects().wake_at, kStart + seconds(200));
  rig_.at(200).tell({});
  EXPECT_EQ(rig_.job(job).barred, 0U);
  EXPECT_TRUE(rig_.engine().view().calendar().empty());
  EXPECT_EQ(rig_.engine().effects().wake_at, std::nullopt);
}

TEST_F(Calendar, TakesEachNumberOnceAndSixtyFourAtATime) {
  rig_.tell({Unreserved{ReservationId(1)}, reserved(1, {GpuId(0)})});
  EXPECT_TRUE(rig_.engine().view().calendar().empty());
  for (std::uint32_t n = 0; n < kMostReservations; ++n) {
    const auto next = rig_.engine().view().next_reservation();
    ASSERT_TRUE(next.has_value());
    rig_.tell({reserved(next->value(), {GpuId(1)})});
  }
  EXPECT_EQ(rig_.engine().view().next_reservation(), std::nullopt);
  rig_.tell({reserved(99, {GpuId(1)})});
  EXPECT_FALSE(rig_.engine().view().calendar().contains(ReservationId(99)));
  rig_.tell({Unreserved{ReservationId(7)}});
  EXPECT_EQ(rig_.engine().view().next_reservation(), ReservationId(7 + 64));
}

TEST_F(Calendar, IgnoresOneThatMakesNoSense) {
  Reserved wrong = reserved(2, {GpuId(0)});
  for (void (*const spoil)(Reservation&) : std::initializer_list<void (*)(Reservation&)>{
           [](Reservation& r) { r.gpus.clear(); },
           [](Reservation& r) { r.gpus = {GpuId(1), GpuId(0)}; },
           [](Reservation& r) { r.gpus = {GpuId(2)}; },
           [](Reservation& r) { r.users.clear(); },
           [](Reservation& r) { r.until = r.from; },
           [](Reservation& r) { r.from = Instant::min(); },
       }) {
    Reserved spoiled = wrong;
    spoil(spoiled.reservation);
    rig_.tell({spoiled});
    EXPECT_EQ(rig_.engine().view().calendar().size(), 1U);
  }
}

/// A clock that was wrong for a while ended it.
TEST_F(Calendar, ComesBackWhereTimeIsSetBack) {
  rig_.tell({Drained{GpuId(1), Drain{.until = kStart + seconds(300), .reason = "noise"}}});
  rig_.at(10'000).tell({});
  EXPECT_TRUE(rig_.engine().view().calendar().empty());
  EXPECT_TRUE(rig_.engine().view().drains().empty());
  const auto saved = Engine::restore(rig_.engine().save(), *make_policy("fifo", "first-fit"));
  ASSERT_TRUE(saved.has_value());
  const auto back = [&](std::int64_t second) {
    auto engine = saved->set_back(kStart + seconds(second), *make_policy("fifo", "first-fit"));
    EXPECT_TRUE(engine.has_value());
    EXPECT_EQ(engine->check(), std::nullopt);
    return std::pair(engine->view().calendar().size(), engine->view().drains().size());
  };
  EXPECT_EQ(back(150), std::pair(std::size_t{1}, std::size_t{1}));
  EXPECT_EQ(back(250), std::pair(std::size_t{0}, std::size_t{1}));
  EXPECT_EQ(back(400), std::pair(std::size_t{0}, std::size_t{0}));
  rig_.tell({Drained{GpuId(1), std::nullopt}});  // by somebody's word
  const auto undrained =
      rig_.engine().set_back(kStart + seconds(250), *make_policy("fifo", "first-fit"));
  ASSERT_TRUE(undrained.has_value());
  EXPECT_TRUE(undrained->view().drains().empty());
}

TEST_F(Calendar, IsSavedWithTheEngine) {
  const JobId job = rig_.submit(limited(whole(1), seconds(60)));
  rig_.at(41).tell({});
  const auto copy = Engine::restore(rig_.engine().save(), *make_policy("fifo", "first-fit"));
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->save(), rig_.engine().save());
  EXPECT_EQ(copy->view().calendar(), rig_.engine().view().calendar());
  EXPECT_EQ(copy->view().find(job)->barred, bit_of(ReservationId(1)));
  EXPECT_EQ(copy->view().next_reservation(), ReservationId(2));
}

}  // namespace
}  // namespace berth::test
