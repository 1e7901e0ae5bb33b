// Goal: a job ended when its process ended, not when that was noticed: its run time, its user's
// account, its time limit and what the history says go by that instant.
//
// Method: ends told late, beside engines that were told at once.
#include <gtest/gtest.h>

#include "engine/rig.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;

constexpr Instant at(std::int64_t second) { return kStart + seconds(second); }

class LateNews : public testing::Test {
 protected:
  LateNews() : rig_(nodes_of(1, 2)) {}

  const Effects& ended(JobId id, Instant when, Outcome outcome = Outcome::Done) {
    return rig_.tell({AttemptEnded{
        .job = id, .attempt = rig_.attempt(id), .outcome = outcome, .code = 0, .at = when}});
  }

  Rig rig_;
};

TEST_F(LateNews, AJobRanUntilItsProcessEnded) {
  const JobId id = rig_.run(shared(1, 1_GiB), {0});
  rig_.at(60);
  ended(id, at(10));
  rig_.at(61);
  EXPECT_EQ(rig_.engine().view().job(id).ran(), seconds(10));
  const Effects& effects = rig_.released(id);
  ASSERT_NE(only<Finished>(effects), nullptr);
  EXPECT_EQ(only<Finished>(effects)->at, at(10));
}

TEST_F(LateNews, TheUserIsChargedUntilThen) {
  const auto service_after = [](Instant end, std::int64_t noticed) {
    Rig rig(nodes_of(1, 2));
    const JobId id = rig.run(shared(1, 1_GiB), {0});
    const JobId other = rig.run(shared(1, 2_GiB), {1});
    rig.at(noticed);
    rig.tell({AttemptEnded{.job = id, .attempt = rig.attempt(id), .at = end}});
    rig.tell({Released{id, rig.attempt(id)}});
    rig.at(100);
    rig.exited(other);
    rig.released(other);
    return static_cast<double>(rig.account().service.raw());
  };
  EXPECT_NEAR(service_after(at(10), 60), service_after(at(10), 10), 10) << "but for rounding";
  EXPECT_GT(service_after(at(60), 60), service_after(at(10), 60) + 1'000'000);
}

TEST_F(LateNews, AJobThatEndedWithinItsLimitIsNotOverIt) {
  JobSpec spec = shared(1, 1_GiB);
  spec.time_limit = seconds(20);
  const JobId id = rig_.run(spec, {0});
  rig_.at(60);
  rig_.tell({Ticked{}});  // the limit is noticed first
  ended(id, at(10));
  expect_finished(rig_, rig_.released(id), id, Outcome::Done);
}

TEST_F(LateNews, AJobThatWasKilledAtItsLimitIsOverIt) {
  JobSpec spec = shared(1, 1_GiB);
  spec.time_limit = seconds(20);
  const JobId id = rig_.run(spec, {0});
  rig_.at(20);
  rig_.tell({Ticked{}});
  rig_.at(30);
  ended(id, at(21), Outcome::Failed);
  expect_finished(rig_, rig_.released(id), id, Outcome::Timeout);
}

TEST_F(LateNews, ATimeOutsideTheAttemptIsMovedIntoIt) {
  rig_.at(5);
  const JobId early = rig_.run(shared(1, 1_GiB), {0});
  const JobId late = rig_.run(shared(1, 1_GiB), {1});
  rig_.at(10);
  ended(early, at(3));
  ended(late, at(12));
  EXPECT_EQ(rig_.engine().view().job(early).ran(), seconds(0));
  EXPECT_EQ(rig_.engine().view().job(late).ran(), seconds(5));
}

TEST_F(LateNews, TheFirstWordCounts) {
  const JobId id = rig_.run(shared(1, 1_GiB), {0});
  rig_.at(10);
  ended(id, at(4));
  ended(id, at(8), Outcome::Failed);
  const Effects& effects = rig_.released(id);
  EXPECT_EQ(only<Finished>(effects)->at, at(4));
  EXPECT_EQ(only<Finished>(effects)->outcome, Outcome::Done);
}

TEST_F(LateNews, AStartThatFailedRanForNoTime) {
  const JobId id = rig_.submit(shared(1, 1_GiB));
  rig_.start(id, {0});
  rig_.at(30);
  rig_.tell({StartFailed{id, rig_.attempt(id)}});
  EXPECT_EQ(rig_.engine().view().job(id).ran(), seconds(0));
  EXPECT_EQ(rig_.account().service, ShareSeconds(0));
}

}  // namespace
}  // namespace berth::test
