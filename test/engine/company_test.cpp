// Goal: what the engine tells of neighbours is the time that each was really beside the other, and
// a run of which that is not known teaches nothing.
// Method: an engine whose policy says what the test tells it to; speeds worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "engine/rig.hpp"
#include "policy/registry.hpp"

namespace berth {
namespace {

using test::nodes_of;
using test::Rig;
using test::shared;

constexpr Bytes kLittle{std::int64_t{4} << 30};
constexpr Fingerprint kOwn(1);
constexpr Fingerprint kOther(2);
constexpr Fingerprint kThird(3);

class EngineCompany : public testing::Test {
 protected:
  JobId run(Fingerprint what, std::uint32_t gpu) {
    const JobId id = rig_.run(shared(1, kLittle), {gpu});
    rig_.tell({Identified{id, what}});
    return id;
  }
  void end(JobId id) {
    rig_.exited(id);
    rig_.released(id);
  }
  void at(std::int64_t second) { rig_.at(base_ + second); }
  void later(std::int64_t seconds) { base_ += seconds; }
  /// One run of 100 s without neighbours.
  void run_alone(Fingerprint what) {
    at(0);
    const JobId id = run(what, 0);
    at(100);
    end(id);
    later(200);
  }
  const Company& company() const { return rig_.engine().view().company(); }
  KnownRate rate(Fingerprint what, Fingerprint beside) const {
    return company().rate(what, beside);
  }
  static KnownRate pair(std::int64_t ppm, std::int32_t times) {
    return {.ppm = ppm, .from = RateSource::Pair, .times = times};
  }

  Rig rig_{nodes_of(1, 2)};
  std::int64_t base_ = 0;
};

TEST_F(EngineCompany, OnlyTheTimeBesideANeighbourIsSlow) {
  run_alone(kOwn);
  for (int i = 0; i < 2; ++i) {
    at(0);
    const JobId own = run(kOwn, 0);
    at(20);
    const JobId other = run(kOther, 0);
    at(140);
    end(other);
    at(160);
    end(own);  // 40 s alone, so that 60 s of work took 120 s
    later(200);
  }
  EXPECT_EQ(rate(kOwn, kOther), pair(500'000, 2));
  EXPECT_EQ(rate(kOther, kOwn), KnownRate()) << "it never ran alone";
}

TEST_F(EngineCompany, SuspendedTimeIsNoTimeBesideAnybody) {
  run_alone(kOwn);
  for (int i = 0; i < 2; ++i) {
    at(0);
    const JobId own = run(kOwn, 0);
    const JobId other = run(kOther, 0);
    at(60);
    rig_.preempt(own, PreemptHow::Suspend);
    rig_.released(own);
    at(1060);
    rig_.resume(own, {0});
    rig_.tell({Started{own, rig_.attempt(own)}});
    at(1200);
    end(own);  // after 60 + 140 s with its neighbour
    end(other);
    later(2000);
  }
  EXPECT_EQ(rate(kOwn, kOther), pair(500'000, 2));
}

TEST_F(EngineCompany, ARunThatBeginsAgainForgetsItsFirstNeighbours) {
  run_alone(kOwn);
  for (int i = 0; i < 3; ++i) {
    at(0);
    const JobId own = run(kOwn, 0);
    const JobId other = run(kOther, 0);
    at(60);
    rig_.preempt(own, PreemptHow::Requeue);
    rig_.released(own);
    rig_.start(own, {1});
    rig_.tell({Started{own, rig_.attempt(own)}});
    at(160);
    end(own);
    end(other);
    later(200);
  }
  EXPECT_FALSE(company().knows_pairs());
  EXPECT_EQ(company().lessons().at(kOwn).times, 4) << "each of them a run alone";
  EXPECT_EQ(company().lessons().at(kOwn).alone, seconds(100));
}

TEST_F(EngineCompany, NobodyKnowsWhichOfSeveralNeighboursSlowsAJob) {
  run_alone(kOwn);
  for (int i = 0; i < 3; ++i) {
    at(0);
    const JobId own = run(kOwn, 0);
    const JobId other = run(kOther, 0);
    const JobId third = run(kThird, 0);
    at(300);
    end(own);
    end(other);
    end(third);
    later(400);
  }
  EXPECT_EQ(rate(kOwn, kOther), KnownRate());
  EXPECT_EQ(rate(kOwn, kThird), KnownRate());
  EXPECT_EQ(company().lessons().at(kOwn).times, 1) << "nor is it a run alone";
}

TEST_F(EngineCompany, AFailedRunShowsNothing) {
  run_alone(kOwn);
  for (int i = 0; i < 3; ++i) {
    at(0);
    const JobId own = run(kOwn, 0);
    const JobId other = run(kOther, 0);
    at(200);
    rig_.exited(own, Outcome::Failed, 1);
    rig_.released(own);
    end(other);
    later(400);
  }
  EXPECT_FALSE(company().knows_pairs());
}

TEST_F(EngineCompany, ReportsBesideAndAloneShowTheSpeedOfARunThatFails) {
  for (int i = 0; i < 2; ++i) {
    std::int64_t done = 0;
    at(0);
    const JobId own = run(kOwn, 0);
    const auto report_each_10s = [&](int from, int to, std::int64_t step) {
      for (int t = from; t < to; t += 10) {
        at(t);
        rig_.tell({Reported{own, "done", done}});
        done += step;
      }
    };
    report_each_10s(0, 200, 100);
    at(195);
    const JobId other = run(kOther, 0);
    report_each_10s(200, 400, 80);
    rig_.exited(own, Outcome::Failed, 1);
    rig_.released(own);
    end(other);
    later(1000);
  }
  EXPECT_EQ(rate(kOwn, kOther), pair(800'000, 2));
}

TEST_F(EngineCompany, HowBusyAProgramKeepsItsGpuIsSeenWhileItIsAlone) {
  at(0);
  const JobId own = run(kOwn, 0);
  rig_.tell({Measured{.gpu = GpuId(0), .utilisation = 50}});
  at(90);
  const JobId other = run(kOther, 0);
  rig_.tell({Measured{.gpu = GpuId(0), .utilisation = 100}});
  at(120);
  end(own);
  end(other);
  EXPECT_EQ(company().lessons().at(kOwn).busy, 50);
  EXPECT_FALSE(company().lessons().contains(kOther)) << "it was never alone";
}

TEST_F(EngineCompany, AllOfItIsInASnapshot) {
  run_alone(kOwn);
  const JobId own = run(kOwn, 0);
  rig_.tell({Measured{.gpu = GpuId(0), .utilisation = 50}});
  at(90);
  rig_.tell({Reported{own, "done", 7}});
  run(kOther, 0);
  at(100);
  rig_.tell({Reported{own, "done", 9}});
  const std::string bytes = rig_.engine().save();
  auto copy = Engine::restore(bytes, *make_policy("fifo", "first-fit"));
  ASSERT_TRUE(copy) << copy.error().message;
  const CompanyRecord was = company().record();
  const CompanyRecord is = copy->view().company().record();
  EXPECT_FALSE(was.stints.empty());
  EXPECT_EQ(is.stints, was.stints);
  EXPECT_EQ(is.meetings, was.meetings);
  EXPECT_EQ(is.lessons, was.lessons);
}

}  // namespace
}  // namespace berth
