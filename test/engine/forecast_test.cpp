// Goal: a predicted start is the instant at which the same engine would start the job, says what it
// rests on, and costs the engine nothing.
// Method: small scenes on one or two GPUs whose future is worked out by hand.
#include "engine/forecast.hpp"

#include <gtest/gtest.h>

#include "policy/registry.hpp"

namespace berth {
namespace {

using namespace berth::literals;
using What = Milestone::What;

class Scene : public testing::Test {
 protected:
  explicit Scene(std::uint32_t gpus = 1) : gpus_(gpus) { use("fifo"); }

  void use(const std::string& policy) {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n0", .gpus = gpus_, .vram = 24_GiB});
    policy_ = policy;
    engine_.emplace(cluster, EngineOptions{}, *make_policy(policy, "first-fit"));
    last_ = 0;
  }
  static JobSpec of(Bytes vram, Duration limit = kForever) {
    JobSpec spec{.user = UserId(7)};
    spec.request.gpu.count = GpuCount(1);
    spec.request.gpu.vram = vram;
    spec.time_limit = limit;
    spec.duration_class = DurationClass::Long;
    return spec;
  }
  static JobSpec of_class(Bytes vram, DurationClass duration_class) {
    JobSpec spec = of(vram);
    spec.duration_class = duration_class;
    return spec;
  }
  JobId submit(const JobSpec& spec, Instant now = kStart) {
    const JobId id(++last_);
    engine_->step(now, std::vector<Input>{Submitted{.job = id, .spec = spec}});
    return id;
  }
  Engine copy() const {
    auto made = Engine::restore(engine_->save(), *make_policy(policy_, "first-fit"));
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  Forecast look(JobId id, const ForecastOptions& options = {}) const {
    return forecast(copy(), id, options);
  }

  std::uint32_t gpus_;
  std::string policy_;
  std::optional<Engine> engine_;
  std::uint64_t last_ = 0;
};

TEST_F(Scene, ExpectsNoStartOnWhatIsReservedForAnotherUser) {
  const Reservation reservation{.gpus = {GpuId(0)},
                                .users = {UserId(8)},
                                .from = kStart + seconds(100),
                                .until = kStart + seconds(200)};
  engine_->step(kStart, std::vector<Input>{Reserved{ReservationId(1), reservation}});
  const JobId runs = submit(of(20_GiB, seconds(60)));
  ASSERT_EQ(engine_->view().find(runs)->state, JobState::Starting);
  const JobId waits = submit(of(20_GiB, seconds(50)));
  EXPECT_EQ(look(waits).start, kStart + seconds(200));
  EXPECT_EQ(look(waits).confidence, Confidence::Bound);
}

TEST_F(Scene, StartsWhenALimitIsOver) {
  const JobId first = submit(of(20_GiB, seconds(100)));
  const JobId second = submit(of(20_GiB), kStart + seconds(10));
  const std::string before = engine_->save();
  const Forecast found = look(second, {.now = kStart + seconds(30)});
  EXPECT_EQ(found.start, kStart + seconds(100));
  EXPECT_EQ(found.placement.gpus, std::vector{GpuId(0)});
  EXPECT_EQ(found.confidence, Confidence::Bound);
  const Milestone end{kStart + seconds(100), first, What::Ends, Basis::Limit};
  EXPECT_EQ(found.before, std::vector{end});
  EXPECT_EQ(found.text, "each job that ends before it has a time limit");
  EXPECT_EQ(engine_->save(), before);
}

TEST_F(Scene, AnEstimateIsAnEstimate) {
  JobSpec estimated = of(20_GiB);
  estimated.estimate = seconds(60);
  const JobId first = submit(estimated);
  const Forecast found = look(submit(of(20_GiB)));
  EXPECT_EQ(found.start, kStart + seconds(60));
  EXPECT_EQ(found.confidence, Confidence::Estimate);
  EXPECT_EQ(found.guessed, std::vector{first});
  EXPECT_EQ(found.text, "job 1 is expected to end by its estimate or class");
}

TEST_F(Scene, OneRunTellsAllStarts) {
  submit(of(20_GiB, seconds(100)));
  const JobId second = submit(of(20_GiB, seconds(50)));
  const JobId third = submit(of_class(20_GiB, DurationClass::Short));
  const JobId fourth = submit(of(20_GiB));
  ForwardRun run(copy(), ForecastOptions{});
  while (run.advance()) {
  }
  const Instant after_class = kStart + seconds(150) + minutes(15);
  EXPECT_EQ(run.starts(),
            (std::vector<PredictedStart>{
                {second, kStart + seconds(100), Confidence::Bound},
                {third, kStart + seconds(150), Confidence::Bound},
                {fourth, after_class, Confidence::Estimate, {.evidence = Evidence::Unknown}}}));
  for (const PredictedStart& start : run.starts()) {
    EXPECT_EQ(look(start.job).start, start.at) << "as asked for one by one";
  }
}

TEST_F(Scene, AllStartsEndWhereNothingIsKnown) {
  submit(of(20_GiB));
  submit(of(20_GiB));
  ForwardRun run(copy(), ForecastOptions{});
  while (run.advance()) {
  }
  EXPECT_TRUE(run.starts().empty());
}

TEST_F(Scene, AnEstimateComesBeforeTheLimit) {
  JobSpec both = of(20_GiB, seconds(100));
  both.estimate = seconds(60);
  submit(both);
  const JobId second = submit(of(20_GiB));
  const Forecast found = look(second);
  EXPECT_EQ(found.start, kStart + seconds(60));
  EXPECT_EQ(found.confidence, Confidence::Estimate);
  const Forecast at_limits = look(second, {.ends = Ends::AtLimits});
  EXPECT_EQ(at_limits.start, kStart + seconds(100));
  EXPECT_EQ(at_limits.confidence, Confidence::Bound);
  const Forecast outlived = look(second, {.now = kStart + seconds(70)});
  EXPECT_EQ(outlived.start, kStart + seconds(100)) << "not as long again: the limit is sooner";
  EXPECT_EQ(outlived.confidence, Confidence::Bound);
}

TEST_F(Scene, TheClassCountsWhileItHolds) {
  submit(of_class(20_GiB, DurationClass::Short));
  const JobId second = submit(of(20_GiB));
  const Forecast found = look(second, {.now = kStart + minutes(4)});
  EXPECT_EQ(found.start, kStart + minutes(15));
  EXPECT_EQ(found.confidence, Confidence::Estimate);
  policy_ = "headroom:short_bound=9m";
  EXPECT_EQ(look(second).start, kStart + minutes(9));
}

TEST_F(Scene, WhoHasOutlivedWhatWasSaidIsTakenToRunAsLongAgain) {
  submit(of_class(20_GiB, DurationClass::Short));
  const JobId second = submit(of(20_GiB));
  const Forecast found = look(second, {.now = kStart + minutes(16)});
  EXPECT_EQ(found.start, kStart + minutes(32));
  EXPECT_EQ(found.confidence, Confidence::Estimate);
  ASSERT_EQ(found.before.size(), 1U);
  EXPECT_EQ(found.before[0].basis, Basis::Outlived);
  EXPECT_EQ(
      found.text,
      "job 1 is expected to end by its estimate or class; a job that is past that is expected "
      "to run as long again");
}

/// Three runs of its program took 10, 20 and 90 s before.
TEST_F(Scene, ALearnedRunTimeIsThatOfRunsThatWereLongerThanItHasRun) {
  const auto is_a_run = [&](JobId job) {
    engine_->step(engine_->now(), std::vector<Input>{Identified{job, Fingerprint(7)}});
    return job;
  };
  for (const int ran : {10, 90, 20}) {
    const JobId id = is_a_run(submit(of(20_GiB), engine_->now()));
    const Attempt attempt = engine_->view().find(id)->attempt;
    const Instant end = engine_->now() + seconds(ran);
    engine_->step(end,
                  std::vector<Input>{Exited{id, attempt, Outcome::Done, 0}, Released{id, attempt}});
  }
  const Instant begin = engine_->now();
  JobSpec learned = of_class(20_GiB, DurationClass::Medium);
  learned.estimate = seconds(20);
  learned.learned_from = 3;
  const JobId running = is_a_run(submit(learned, begin));
  const JobId waiting = is_a_run(submit(learned, begin));
  const JobId last = submit(of(20_GiB), begin);
  EXPECT_EQ(look(waiting, {.now = begin + seconds(5)}).start, begin + seconds(20));
  EXPECT_EQ(look(waiting, {.now = begin + seconds(30)}).start, begin + seconds(90));
  const Forecast outlived = look(waiting, {.now = begin + seconds(100)});
  EXPECT_EQ(outlived.start, begin + seconds(200)) << "none ran as long";
  EXPECT_EQ(outlived.before[0].basis, Basis::Outlived);
  const Forecast found = look(last, {.now = begin + seconds(30)});
  EXPECT_EQ(found.start, begin + seconds(110)) << "what ends in the forecast teaches nothing";
  EXPECT_EQ(found.before[0], (Milestone{begin + seconds(90), running, What::Ends, Basis::Learned}));
  EXPECT_EQ(found.confidence, Confidence::Estimate);
}

TEST_F(Scene, NamesWhoHasNoKnownEnd) {
  submit(of(20_GiB));
  const Forecast found = look(submit(of(20_GiB)));
  EXPECT_EQ(found.start, std::nullopt);
  EXPECT_EQ(found.confidence, Confidence::Unknown);
  EXPECT_EQ(found.unplanned, std::vector{JobId(1)});
  EXPECT_EQ(found.text,
            "it is not known when job 1 ends: no time limit, no estimate, and no class that says");
}

TEST_F(Scene, NamesWhoBlocksTheJobItWaitsFor) {
  submit(of(4_GiB));
  submit(of(22_GiB));  // waits for the first, and under fifo no job passes
  const Forecast found = look(submit(of(4_GiB)));
  EXPECT_EQ(found.start, std::nullopt);
  EXPECT_EQ(found.unplanned, std::vector{JobId(1)});
}

/// In the run every job ends well.
TEST_F(Scene, SaysOfWhatStartsOnlyAfterAFailureThatItNeverWillIfThereIsNone) {
  const JobId job = submit(of(4_GiB, seconds(100)));
  JobSpec cleanup = of(4_GiB);
  cleanup.conditions = Conditions{.after = {{.job = job, .when = After::NotOk}}};
  const Forecast of_job = look(submit(cleanup));
  EXPECT_FALSE(of_job.start);
  EXPECT_EQ(of_job.text, "it will never start if job 1 ends as done");
  JobSpec task = of(4_GiB, seconds(100));
  std::vector<Dependency> whole;
  for (const std::int64_t number : {7, 8}) {
    task.conditions = Conditions{.array = {.first = JobId(3), .task = number, .tasks = 2}};
    whole.push_back({.job = submit(task), .when = After::NotOk, .array = JobId(3)});
  }
  cleanup.conditions = Conditions{.after = {{.job = JobId(4), .when = After::NotOk}}};
  EXPECT_EQ(look(submit(cleanup)).text, "it will never start if job 3_8 ends as done");
  cleanup.conditions = Conditions{.after = whole};
  EXPECT_EQ(look(submit(cleanup)).text, "it will never start if all tasks of array 3 end well");
}

TEST_F(Scene, TheQueueAheadGoesFirst) {
  submit(of(20_GiB, seconds(100)));
  const JobId second = submit(of(20_GiB, seconds(50)));
  const JobId third = submit(of(20_GiB));
  const Forecast found = look(third);
  EXPECT_EQ(found.start, kStart + seconds(150));
  ASSERT_EQ(found.before.size(), 3U);
  EXPECT_EQ(found.before[1], (Milestone{kStart + seconds(100), second, What::Starts, Basis::None}));
  const Forecast brief = look(third, {.most_listed = 1});
  EXPECT_EQ(brief.before.size(), 1U);
  EXPECT_EQ(brief.before_count, 3U);
}

TEST_F(Scene, AJobThatDoesNotExistIsTriedOnTheCopy) {
  submit(of(20_GiB, seconds(100)));
  Submitted wish{.job = next_job(engine_->view()), .spec = of(20_GiB)};
  EXPECT_EQ(wish.job, JobId(2));
  EXPECT_EQ(forecast(copy(), wish).start, kStart + seconds(100));
  wish.spec = of(2_GiB);
  const Forecast now = forecast(copy(), wish, {.now = kStart + seconds(5)});
  EXPECT_EQ(now.start, kStart + seconds(5));
  EXPECT_EQ(now.confidence, Confidence::Bound);
  EXPECT_EQ(now.text, "nothing has to happen before");
  EXPECT_FALSE(engine_->view().knows(JobId(2)));
  wish.spec = of(30_GiB);
  EXPECT_EQ(forecast(copy(), wish).text,
            "job 2: asks 30 GiB per GPU, the most a GPU here can give is 24 GiB");
}

TEST_F(Scene, SaysWhyNothingIsPredicted) {
  submit(of(20_GiB, hours(24 * 40)));
  const JobId second = submit(of(20_GiB, seconds(5)));
  EXPECT_EQ(look(second).text, "it does not start within the next 30 days, by what is known now");
  EXPECT_EQ(look(second, {.most_steps = 1, .horizon = hours(24 * 90)}).text,
            "too much happens before it: 1 steps were looked at");
  EXPECT_EQ(look(JobId(9)).text, "there is no job 9");
  engine_->step(kStart, std::vector<Input>{HoldAsked{second}});
  EXPECT_EQ(look(second).text, "it is held");
  engine_->step(kStart, std::vector<Input>{GpuHealth{GpuId(0), false}, CancelAsked{JobId(1)},
                                           Released{JobId(1), Attempt(1)}, ReleaseAsked{second}});
  EXPECT_EQ(look(second).text, "nothing is in sight that would let it start");
}

TEST_F(Scene, ARunCanBeStopped) {
  submit(of(20_GiB, seconds(100)));
  submit(of(20_GiB, seconds(100)));
  const JobId third = submit(of(20_GiB));
  ForwardRun run(copy(), third, {});
  EXPECT_TRUE(run.advance());
  EXPECT_TRUE(run.advance());
  run.stop_here();
  EXPECT_FALSE(run.advance());
  EXPECT_EQ(run.forecast().text,
            "it does not start within the next 100 s, and to look further ahead takes too long");
  EXPECT_EQ(run.forecast().confidence, Confidence::Unknown);
}

TEST_F(Scene, AJobWithABerthHasStarted) {
  const JobId first = submit(of(20_GiB), kStart + seconds(3));
  EXPECT_EQ(look(first).start, kStart + seconds(3));
}

TEST_F(Scene, WhatIsBeingFreedIsTakenToBeFreeAtOnce) {
  submit(of(20_GiB));
  const JobId second = submit(of(20_GiB));
  engine_->step(kStart + seconds(5), std::vector<Input>{CancelAsked{JobId(1)}});
  EXPECT_EQ(look(second, {.now = kStart + seconds(6)}).start, kStart + seconds(6));
}

TEST_F(Scene, ALimitThatIsOverAlreadyEndsTheJobNow) {
  submit(of(20_GiB, seconds(10)));
  const Forecast found = look(submit(of(20_GiB)), {.now = kStart + seconds(12)});
  EXPECT_EQ(found.start, kStart + seconds(12));
  ASSERT_EQ(found.before.size(), 1U);
  EXPECT_EQ(found.before[0].basis, Basis::Limit);
}

TEST_F(Scene, WhoMayDisplaceOthersStartsWhenTheirMemoryHasLeft) {
  use("srtf");
  submit(of(20_GiB, seconds(1000)));
  const Submitted wish{.job = JobId(2), .spec = of(20_GiB, seconds(10))};
  const Forecast found = forecast(copy(), wish);
  EXPECT_EQ(found.start, kStart + seconds(11)) << "a second, and 20 GiB at 2 GiB a second";
  EXPECT_EQ(found.confidence, Confidence::Estimate);
  ASSERT_EQ(found.before.size(), 1U);
  EXPECT_EQ(found.before[0].what, What::GivesWay);
  const ForecastOptions at_once{.give_way = {.at_least = Duration(0), .rate = Bytes(0)}};
  EXPECT_EQ(forecast(copy(), wish, at_once).start, kStart);
}

TEST_F(Scene, AStartForWhichOthersGiveWayIsNoBound) {
  use("turns:quantum=1s");
  submit(of(20_GiB, seconds(5000)));
  const Forecast found = look(submit(of(20_GiB)));
  EXPECT_EQ(found.start, kStart + minutes(15) + seconds(11));
  EXPECT_EQ(found.confidence, Confidence::Estimate);
  EXPECT_EQ(found.text, "the policy is expected to let it run then, if no other job comes");
}

class TwoGpus : public Scene {
 protected:
  TwoGpus() : Scene(2) {}
};

TEST_F(TwoGpus, OthersPassOnlyWhereThatDelaysNoReservation) {
  use("easy");
  submit(of(20_GiB, seconds(100)));
  JobSpec gang = of(20_GiB, seconds(50));
  gang.request.gpu.count = GpuCount(2);
  const JobId second = submit(gang);
  EXPECT_EQ(look(second).start, kStart + seconds(100));
  const auto wish = [&](Duration limit) {
    return forecast(copy(), Submitted{.job = JobId(3), .spec = of(20_GiB, limit)}).start;
  };
  EXPECT_EQ(wish(seconds(100)), kStart);
  EXPECT_EQ(wish(seconds(101)), kStart + seconds(150));
}

}  // namespace
}  // namespace berth
