// Goal: a hint is the least that a user has to give up, and is true; what must end is what ends.
// Method: small scenes on one to four GPUs whose answers are worked out by hand; the engine is
// asked on copies.
#include "engine/hint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/registry.hpp"

namespace berth {
namespace {

using namespace berth::literals;
using testing::ElementsAre;
using testing::IsEmpty;

class Hints : public testing::Test {
 protected:
  Hints() { use("easy", 1); }

  void use(const std::string& policy, std::uint32_t gpus, const Settings& settings = {}) {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n0", .gpus = gpus, .vram = 24_GiB, .type = "a"});
    use(policy, cluster, settings);
  }
  void use(const std::string& policy, const Cluster& cluster, const Settings& settings = {}) {
    policy_ = policy;
    engine_.emplace(cluster, EngineOptions{.settings = settings, .bounds = {}},
                    *make_policy(policy, "first-fit"));
    last_ = 0;
  }
  static JobSpec of(Bytes vram, Duration limit = kForever, std::int64_t gpus = 1) {
    JobSpec spec{.user = UserId(7)};
    spec.request.gpu.count = GpuCount(gpus);
    spec.request.gpu.vram = vram;
    spec.time_limit = limit;
    return spec;
  }
  static JobSpec on(std::uint32_t gpu, JobSpec spec) {
    spec.request.gpu.only = set_of(GpuId(gpu));
    return spec;
  }
  JobId submit(const JobSpec& spec) {
    const JobId id(++last_);
    engine_->step(kStart, std::vector<Input>{Submitted{.job = id, .spec = spec}});
    return id;
  }
  Engine copy() const {
    auto made = Engine::restore(engine_->save(), *make_policy(policy_, "first-fit"));
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  std::vector<Hint> hints(JobId id, Duration longest_time = kForever) const {
    const ClusterView view = engine_->view();
    const JobSpec& spec = view.find(id)->spec;
    const auto at_once = [&](const JobSpec& changed) -> std::optional<Answered> {
      auto place = placed_at_once(copy(), Updated{.job = id, .spec = changed}, id, kStart);
      return place ? std::optional(Answered{kStart, *place}) : std::nullopt;
    };
    const auto ahead = [&](const JobSpec& changed) -> std::optional<Answered> {
      ForwardRun run(copy(), Updated{.job = id, .spec = changed}, ForecastOptions{});
      while (run.advance()) {
      }
      const Forecast& found = run.forecast();
      if (!found.start) return std::nullopt;
      return Answered{*found.start, found.placement};
    };
    return hints_for({.spec = spec,
                      .view = view,
                      .now = kStart,
                      .start = forecast(copy(), id).start,
                      .usual_run = engine_->class_bound(spec.duration_class),
                      .next_priority = priority_above_own(view, spec, id),
                      .longest_time = longest_time},
                     {.at_once = at_once, .ahead = ahead});
  }
  /// In the engine itself.
  bool starts_with(JobId id, const Hint& hint) {
    engine_->step(kStart, std::vector<Input>{Updated{.job = id, .spec = hint.spec}});
    return is_running(engine_->view().find(id)->state);
  }

  std::string policy_;
  std::optional<Engine> engine_;
  std::uint64_t last_ = 0;
};

TEST_F(Hints, TheLongestLimitThatDelaysNobody) {
  use("easy", 2);
  submit(of(14_GiB, minutes(39)));
  submit(of(20_GiB, hours(3)));
  submit(of(20_GiB, hours(2)));  // gets GPU 0 in 39 minutes
  const JobId waits = submit(of(8_GiB, hours(10)));
  const auto found = hints(waits);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].what, Wanting::Time);
  EXPECT_EQ(found[0].spec.time_limit, minutes(38)) << "a minute is left to type it";
  EXPECT_EQ(found[0].start, kStart);
  EXPECT_THAT(found[0].placement.gpus, ElementsAre(GpuId(0)));
  const auto allowed = hints(waits, minutes(20));
  ASSERT_FALSE(allowed.empty());
  EXPECT_EQ(allowed[0].spec.time_limit, minutes(20)) << "no longer than may be asked for";
  EXPECT_TRUE(starts_with(waits, found[0]));
}

/// To start a minute sooner nobody gives up most of what they asked for.
TEST_F(Hints, OfAShortWaitCostNoMoreThanHalf) {
  submit(of(14_GiB, seconds(100)));
  submit(of(20_GiB, hours(2)));  // gets the GPU then
  const JobId waits = submit(of(8_GiB, minutes(30)));
  const auto starts_at = [&](Instant start) {
    const ClusterView view = engine_->view();
    return hints_for({.spec = view.find(waits)->spec, .view = view, .now = kStart, .start = start},
                     {.at_once = [&](const JobSpec& changed) -> std::optional<Answered> {
                        auto place = placed_at_once(copy(), Updated{.job = waits, .spec = changed},
                                                    waits, kStart);
                        if (!place) return std::nullopt;
                        return Answered{kStart, *place};
                      },
                      .ahead = {}});
  };
  const auto long_wait = starts_at(kStart + hours(2));
  ASSERT_FALSE(long_wait.empty());
  EXPECT_EQ(long_wait[0].what, Wanting::Time);
  EXPECT_EQ(long_wait[0].spec.time_limit, minutes(1)) << "a thirtieth";
  EXPECT_THAT(starts_at(kStart + seconds(100)), IsEmpty());
}

/// It has to ask for nothing less.
TEST_F(Hints, ToShareAtOnceWhereAGateHoldsIt) {
  use("fifo-skip+idle", 1);
  submit(of(8_GiB, hours(10)));
  engine_->step(kStart, std::vector<Input>{Measured{.gpu = GpuId(0), .utilisation = 100}});
  const JobId waits = submit(of(4_GiB, hours(10)));
  const auto found = hints(waits);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].what, Wanting::Share);
  EXPECT_EQ(found[0].spec.request.gpu.sharing, Sharing::AtOnce);
  EXPECT_EQ(found[0].start, kStart);
  EXPECT_THAT(found[0].placement.gpus, ElementsAre(GpuId(0)));
  EXPECT_TRUE(starts_with(waits, found[0]));
}

/// One that must not be suspended is not let in as a young job is, since it would stay.
TEST_F(Hints, ToBearASuspensionWhereOthersAreLentPlaces) {
  use("turns", 1);
  submit(of(20_GiB, hours(10)));
  JobSpec stays = of(20_GiB, hours(10));
  stays.suspending = Suspending::No;
  const JobId waits = submit(stays);
  const auto found = hints(waits);
  const auto to_bear = std::ranges::find(found, Wanting::Suspend, &Hint::what);
  ASSERT_NE(to_bear, found.end());
  EXPECT_EQ(to_bear->spec.suspending, Suspending::Yes);
  EXPECT_LT(to_bear->start, kStart + hours(1));
  stays.duration_class = DurationClass::Service;
  const auto of_service = hints(submit(stays));
  EXPECT_EQ(std::ranges::find(of_service, Wanting::Suspend, &Hint::what), of_service.end());
}

TEST_F(Hints, NeverALimitBelowTheEstimate) {
  use("easy", 2);
  submit(of(14_GiB, minutes(39)));
  submit(of(20_GiB, hours(3)));
  submit(of(20_GiB, hours(2)));
  JobSpec known = of(8_GiB, hours(10));
  known.estimate = minutes(45);
  for (const Hint& hint : hints(submit(known))) EXPECT_NE(hint.what, Wanting::Time);
}

TEST_F(Hints, TheMostMemoryThatIsFree) {
  use("easy", 2);
  submit(of(20_GiB, hours(2)));
  submit(of(14_GiB, hours(2)));
  const JobId waits = submit(of(12_GiB, hours(1)));
  const auto found = hints(waits);
  ASSERT_THAT(found, testing::SizeIs(1));
  EXPECT_EQ(found[0].what, Wanting::Vram);
  EXPECT_EQ(found[0].spec.request.gpu.vram, 9728_MiB);  // 14 + 9.5 + the guard band of 0.5
  EXPECT_THAT(found[0].placement.gpus, ElementsAre(GpuId(1)));
  EXPECT_TRUE(starts_with(waits, found[0]));
}

TEST_F(Hints, AnAmountForOneThatSaidNone) {
  submit(of(14_GiB, hours(2)));
  JobSpec whole = of(Bytes(0));
  const JobId waits = submit(whole);
  const auto found = hints(waits);
  ASSERT_THAT(found, testing::SizeIs(1));
  EXPECT_EQ(found[0].spec.request.gpu.vram, 9728_MiB);
  EXPECT_TRUE(starts_with(waits, found[0]));
}

TEST_F(Hints, FewerGpus) {
  use("easy", 4);
  submit(of(20_GiB, hours(2)));
  const JobId waits = submit(of(20_GiB, hours(2), 4));
  const auto found = hints(waits);
  ASSERT_THAT(found, testing::SizeIs(1));
  EXPECT_EQ(found[0].what, Wanting::Gpus);
  EXPECT_EQ(found[0].spec.request.gpu.count, GpuCount(3));
  EXPECT_TRUE(starts_with(waits, found[0]));
}

TEST_F(Hints, FewerCoresOrLessHostMemory) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node(
      {.name = "n0", .gpus = 2, .vram = 24_GiB, .cpu = CpuMilli(16'000), .host = 64_GiB});
  use("easy", cluster);
  JobSpec first = of(4_GiB, hours(2));
  first.request.cpu = CpuMilli(11'000);
  first.request.host = 40_GiB;
  submit(first);
  JobSpec cores = of(4_GiB, hours(2));
  cores.request.cpu = CpuMilli(8000);
  const JobId waits = submit(cores);
  const auto of_cores = hints(waits);
  ASSERT_THAT(of_cores, testing::SizeIs(1));
  EXPECT_EQ(of_cores[0].what, Wanting::Cpus);
  EXPECT_EQ(of_cores[0].spec.request.cpu, CpuMilli(5000));
  EXPECT_TRUE(starts_with(waits, of_cores[0]));
  JobSpec memory = of(4_GiB, hours(2));
  memory.request.host = 40_GiB;
  const auto of_memory = hints(submit(memory));
  ASSERT_THAT(of_memory, testing::SizeIs(1));
  EXPECT_EQ(of_memory[0].what, Wanting::Mem);
  EXPECT_EQ(of_memory[0].spec.request.host, 24_GiB);
}

TEST_F(Hints, AnotherTypeAndAnotherGpuAreAddedToThoseItAccepts) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n0", .gpus = 1, .vram = 24_GiB, .type = "a"});
  cluster.add_node({.name = "n1", .gpus = 1, .vram = 24_GiB, .type = "b"});
  use("easy", cluster);
  submit(of(22_GiB, hours(2)));
  JobSpec typed = of(22_GiB, hours(2));
  typed.request.gpu.types = cluster.type_bit(GpuId(0));
  const JobId second = submit(typed);
  const auto types = hints(second);
  ASSERT_FALSE(types.empty());
  EXPECT_EQ(types[0].what, Wanting::Types);
  EXPECT_EQ(types[0].spec.request.gpu.types,
            cluster.type_bit(GpuId(0)) | cluster.type_bit(GpuId(1)));
  const auto only = hints(submit(on(0, of(22_GiB, hours(2)))));
  ASSERT_FALSE(only.empty());
  EXPECT_EQ(only[0].what, Wanting::Only);
  EXPECT_EQ(only[0].spec.request.gpu.only, set_of(GpuId(0)) | set_of(GpuId(1)));
  EXPECT_TRUE(starts_with(second, types[0]));
}

TEST_F(Hints, TheCheapestComesFirst) {
  submit(of(14_GiB, hours(2)));
  submit(of(20_GiB, hours(2)));
  const JobId waits = submit(of(10_GiB, hours(3)));
  const auto found = hints(waits);
  for (std::size_t i = 1; i < found.size(); ++i) {
    EXPECT_LE(found[i - 1].loss_milli, found[i].loss_milli);
  }
}

TEST_F(Hints, OfALimitOfItsUserThereIsNone) {
  Settings settings;
  settings.limits.jobs = 1;
  use("easy", 2, settings);
  submit(of(4_GiB, hours(2)));
  EXPECT_THAT(hints(submit(of(4_GiB, hours(2)))), IsEmpty());
}

/// Nothing starts it at once; a smaller wish starts it much sooner.
TEST_F(Hints, LooksAheadWhereNothingHelpsAtOnce) {
  submit(of(12_GiB, minutes(10)));
  submit(of(11_GiB, hours(2)));
  const JobId waits = submit(of(22_GiB, hours(1)));
  const auto found = hints(waits);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].what, Wanting::Vram);
  EXPECT_EQ(found[0].start, kStart + minutes(10));
  EXPECT_EQ(found[0].spec.request.gpu.vram, 12800_MiB) << "11 + 12.5 + the guard band of 0.5";
}

/// The GPU has room for nearly as much, and a rule of the policy lets no job join it yet.
TEST_F(Hints, AheadTheMostMemoryThatIsFreeNow) {
  use("headroom", 1);
  engine_->step(kStart,
                std::vector<Input>{Measured{.gpu = GpuId(0), .used = Bytes(0), .utilisation = 10}});
  submit(of(14848_MiB, hours(3)));
  for (const JobSpec& spec : {of(9728_MiB, hours(5)), of(Bytes(0), hours(5))}) {
    const JobId waits = submit(spec);
    const auto found = hints(waits);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].what, Wanting::Vram);
    EXPECT_GT(found[0].start, kStart);
    EXPECT_LT(found[0].start, kStart + hours(1));
    EXPECT_EQ(found[0].spec.request.gpu.vram, 9_GiB) << "14.5 + 9 + the guard band of 0.5";
    engine_->step(kStart, std::vector<Input>{CancelAsked{waits}});
  }
}

/// After the first has ended there is room until the place that is reserved is needed.
TEST_F(Hints, AheadTheLongestLimitThatStartsNoLater) {
  submit(of(12_GiB, minutes(10)));
  submit(of(10_GiB, hours(2)));
  submit(of(23_GiB, hours(1)));
  const auto found = hints(submit(of(11_GiB, hours(10))));
  const auto time = std::ranges::find(found, Wanting::Time, &Hint::what);
  ASSERT_NE(time, found.end());
  EXPECT_EQ(time->start, kStart + minutes(10));
  EXPECT_GE(time->spec.time_limit, minutes(100));
  EXPECT_LE(time->spec.time_limit, minutes(110));
}

// ---- What must end ---------------------------------------------------------------------------

/// The jobs of the other GPU could leave first and nobody has to wait for them.
TEST_F(Hints, WhatMustEndIsWhatEndsInThePrediction) {
  use("headroom:share_patience=0", 2);
  submit(on(0, of(18_GiB, hours(2))));
  submit(on(1, of(14_GiB, minutes(40))));
  submit(on(1, of(8_GiB, minutes(30))));
  const JobId ends = submit(on(0, of(3_GiB, minutes(15))));
  const JobId waits = submit(of(4_GiB, hours(1)));
  const Forecast found = forecast(copy(), waits);
  EXPECT_EQ(found.start, kStart + minutes(15));
  EXPECT_THAT(found.must_end, ElementsAre(ends));
}

TEST_F(Hints, OneThatMustEndAndWaitsItselfMustStart) {
  use("fifo", 1);
  submit(of(20_GiB, minutes(10)));
  const JobId ahead = submit(of(20_GiB, minutes(10)));
  const JobId waits = submit(of(20_GiB, minutes(10)));
  const Forecast found = forecast(copy(), waits);
  EXPECT_EQ(found.start, kStart + minutes(20));
  EXPECT_THAT(found.must_end, testing::Contains(ahead));
  EXPECT_THAT(found.must_start, ElementsAre(ahead));
  EXPECT_THAT(forecast(copy(), ahead).must_start, IsEmpty());
}

TEST_F(Hints, OneThatEndsBeforeAndIsInNobodysWayNeedNotEnd) {
  use("fifo-skip", 2);
  submit(on(0, of(20_GiB, hours(1))));
  submit(on(1, of(20_GiB, hours(3))));
  submit(on(1, of(2_GiB, minutes(5))));
  const JobId waits = submit(of(20_GiB));
  EXPECT_THAT(forecast(copy(), waits).must_end, ElementsAre(JobId(1)));
}

/// A small job waits for the end of one that starts in the place of another: there is room for it
/// beside either.
TEST_F(Hints, OneThatMadeWayForAnotherNeedNotEndForThis) {
  use("easy", 1);
  submit(of(20_GiB, minutes(10)));
  const JobId next = submit(of(20_GiB, minutes(10)));
  JobSpec after = of(2_GiB, minutes(10));
  after.conditions.edit().after.push_back({.job = next, .when = After::Ok});
  const JobId waits = submit(after);
  const Forecast found = forecast(copy(), waits);
  EXPECT_EQ(found.start, kStart + minutes(20));
  EXPECT_THAT(found.must_end, IsEmpty());
}

/// The second would not have started had the first stayed, and there is no room beside that.
TEST_F(Hints, OneInWhosePlaceAnotherStartsMustEnd) {
  use("fifo-skip", 1);
  submit(of(20_GiB, minutes(10)));
  submit(of(23_GiB, minutes(20)));
  const JobId waits = submit(of(5_GiB, hours(1)));
  const Forecast found = forecast(copy(), waits);
  EXPECT_EQ(found.start, kStart + minutes(30));
  EXPECT_THAT(found.must_end, ElementsAre(JobId(1), JobId(2)));
}

TEST_F(Hints, BothOfTwoThatAreInTheWayMustEnd) {
  submit(of(12_GiB, minutes(10)));
  submit(of(11_GiB, minutes(20)));
  const JobId waits = submit(of(20_GiB));
  EXPECT_THAT(forecast(copy(), waits).must_end, ElementsAre(JobId(1), JobId(2)));
  const JobId less = submit(of(11_GiB));
  EXPECT_THAT(forecast(copy(), less).must_end, testing::Contains(JobId(3)))
      << "one that waits ahead, and will be there";
}

TEST_F(Hints, AJobOfItsUserMustEndWhereThatIsTheLimit) {
  Settings settings;
  settings.limits.jobs = 1;
  use("easy", 2, settings);
  submit(of(4_GiB, minutes(10)));
  const JobId waits = submit(of(4_GiB));
  const Forecast found = forecast(copy(), waits);
  EXPECT_EQ(found.start, kStart + minutes(10));
  EXPECT_THAT(found.must_end, ElementsAre(JobId(1)));
}

TEST_F(Hints, WithoutAKnownEndItNamesWhatIsInTheWay) {
  JobSpec endless = of(12_GiB);
  endless.duration_class = DurationClass::Long;
  submit(endless);
  submit(of(11_GiB, minutes(20)));
  const JobId waits = submit(of(20_GiB));
  const Forecast found = forecast(copy(), waits);
  EXPECT_EQ(found.start, std::nullopt);
  EXPECT_THAT(found.unplanned, ElementsAre(JobId(1)));
  EXPECT_THAT(found.must_end, ElementsAre(JobId(1), JobId(2)));
}

}  // namespace
}  // namespace berth
