// Goal: the engine is told of GPUs what is known and no more, starts wait for looks that are fresh,
// and a berth is given back when its memory is seen free, or no GPU can be sampled. Method: looks
// made by hand at chosen instants, an engine with jobs on two GPUs for the view.
#include "live/watcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "gpu/probe.hpp"
#include "policy/registry.hpp"

namespace berth::live {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr Bytes kWatchedGib{std::int64_t{1} << 30};
constexpr Bytes kHalf{std::int64_t{1} << 29};
constexpr Bytes kQuarter{std::int64_t{1} << 28};
constexpr Duration kLongest = seconds(2);
constexpr GpuId kFirst{0};
constexpr GpuId kSecond{1};

Instant when(std::int64_t second) { return kStart + seconds(second); }

Cluster two_gpus() {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = 2, .vram = kWatchedGib * 24, .context = Bytes(0)});
  return cluster;
}

/// A process on a GPU and whose it is.
struct On {
  pid_t pid;
  Bytes bytes;
  Owner owner;
};

class WatcherTest : public testing::Test {
 protected:
  WatcherTest() {
    // Jobs 1 and 2 ask for one GPU each, alone: job 1 gets GPU 0, job 2 GPU 1.
    std::vector<Input> inputs;
    for (const JobId job : {JobId(1), JobId(2)}) {
      JobSpec spec;
      spec.request.gpu = {.count = GpuCount(1), .vram = kWatchedGib, .sharing = Sharing::Alone};
      inputs.emplace_back(Submitted{job, spec});
    }
    engine_.step(when(0), inputs);
    EXPECT_THAT(engine_.view().running(), SizeIs(2));
    EXPECT_EQ(engine_.view().find(JobId(1))->grant.shares.front().gpu, kFirst);
  }

  std::vector<Input> see(GpuId gpu, int second, const std::vector<On>& processes) {
    return watcher_.on_look(look(gpu, second, processes), engine_.view());
  }
  std::vector<Input> fail_to_see(GpuId gpu, int second, const std::string& why,
                                 ErrorCode code = ErrorCode::Io) {
    return watcher_.on_look(
        {.gpu = gpu, .began = when(second), .sample = berth::fail(code, why), .owners = {}},
        engine_.view());
  }
  static Look look(GpuId gpu, int second, const std::vector<On>& processes) {
    Sample sample{.total = kWatchedGib * 24, .processes = std::vector<GpuProcess>()};
    Look look{.gpu = gpu, .began = when(second), .sample = sample, .owners = {}};
    for (const On& on : processes) {
      sample.processes->push_back({on.pid, on.bytes});
      sample.used += on.bytes;
      look.owners[on.pid] = on.owner;
    }
    look.sample = sample;
    return look;
  }
  static std::optional<Measured> measured(const std::vector<Input>& inputs) {
    for (const Input& input : inputs) {
      if (const auto* const found = std::get_if<Measured>(&input)) return *found;
    }
    return std::nullopt;
  }
  static std::optional<bool> health(const std::vector<Input>& inputs) {
    for (const Input& input : inputs) {
      if (const auto* const found = std::get_if<GpuHealth>(&input)) return found->healthy;
    }
    return std::nullopt;
  }
  std::vector<JobId> released() {
    std::vector<JobId> jobs;
    for (const Input& input : watcher_.take_released()) {
      jobs.push_back(std::get<Released>(input).job);
    }
    return jobs;
  }

  Engine engine_{two_gpus(), {}, *make_policy("fifo", "first-fit")};
  Watcher watcher_{2, kLongest};
};

// ---- Processes that are adopted --------------------------------------------------------------

TEST_F(WatcherTest, AProcessThatIsAdoptedIsCountedOnce) {
  Engine engine{two_gpus(), {}, *make_policy("fifo", "first-fit")};
  const auto tell = [&](int second, const std::vector<On>& processes) {
    return watcher_.on_look(look(kFirst, second, processes), engine.view());
  };
  engine.step(when(1), tell(1, {{10, kWatchedGib * 8, OfStranger{}}}));
  ASSERT_EQ(engine.view().use().gpu(kFirst).foreign, kWatchedGib * 8);
  Adopted adopted{.job = JobId(3), .spec = {}, .shares = {}};
  adopted.spec.request.gpu = {.count = GpuCount(1), .vram = kWatchedGib * 9};
  adopted.shares = {{kFirst, kWatchedGib * 8, kWatchedGib * 9}};
  engine.step(when(2), std::vector<Input>{adopted});
  watcher_.follow(engine.view());
  watcher_.changed({kFirst}, when(2));
  const On its{10, kWatchedGib * 8, OfStranger{}};
  const On others{11, kWatchedGib * 3, OfStranger{}};
  const auto stale = measured(tell(2, {its}));
  EXPECT_EQ(stale.value_or(*watcher_.told(kFirst)).foreign, Bytes(0)) << "as before";
  EXPECT_EQ(measured(tell(3, {its, others}))->foreign, kWatchedGib * 2) << "beyond its charge";
  const On known{10, kWatchedGib * 8, OfJob{JobId(3)}};
  EXPECT_EQ(measured(tell(4, {known, others}))->foreign, kWatchedGib * 3);
}

// ---- Glances ---------------------------------------------------------------------------------

TEST_F(WatcherTest, AfterAGlanceEnergyAndUseAreAsTheLookBeforeToldThem) {
  const OfJob ours{JobId(1)};
  Look whole = look(kFirst, 1, {{10, kHalf, ours}, {11, kHalf, OfStranger{}}});
  whole.sample->millijoules = 500;
  whole.sample->processes->at(0).utilisation_percent = 0;
  whole.sample->processes->at(1).utilisation_percent = 90;
  watcher_.on_look(whole, engine_.view());
  Look glance = look(kFirst, 2, {{10, kWatchedGib, ours}, {12, kHalf, OfStranger{}}});
  glance.sample->is_glance = true;
  for (int twice = 0; twice < 2; ++twice) {
    glance.began = when(2 + twice);
    watcher_.on_look(glance, engine_.view());
    const Look* const latest = watcher_.latest(kFirst);
    ASSERT_NE(latest, nullptr);
    EXPECT_EQ(latest->sample->millijoules, 500);
    EXPECT_EQ(latest->sample->processes->at(0).bytes, kWatchedGib) << "memory is the glance's";
    EXPECT_EQ(latest->sample->processes->at(0).utilisation_percent, 0U);
    EXPECT_FALSE(latest->sample->processes->at(1).utilisation_percent) << "nothing is known of it";
  }
  see(kFirst, 4, {{10, kHalf, ours}});
  EXPECT_FALSE(watcher_.latest(kFirst)->sample->millijoules) << "the driver tells it no more";
}

// ---- Fresh or not ----------------------------------------------------------------------------

TEST_F(WatcherTest, WithoutALookEverythingIsStale) {
  EXPECT_EQ(watcher_.stale(when(0)), (std::set<GpuId>{kFirst, kSecond}));
}

TEST_F(WatcherTest, ALookIsFreshUntilItIsTooOld) {
  see(kFirst, 1, {});
  see(kSecond, 2, {});
  EXPECT_THAT(watcher_.stale(when(3)), IsEmpty());
  EXPECT_EQ(watcher_.stale(when(4)), std::set<GpuId>{kFirst});
}

TEST_F(WatcherTest, AChangeMakesALookStaleUnlessItBeganAfter) {
  see(kFirst, 1, {});
  see(kSecond, 1, {});
  watcher_.changed({kSecond}, when(1));
  EXPECT_EQ(watcher_.stale(when(1)), std::set<GpuId>{kSecond});
  see(kSecond, 1, {});  // begun at the very instant: it may have seen either
  EXPECT_EQ(watcher_.stale(when(1)), std::set<GpuId>{kSecond});
  see(kSecond, 2, {});
  EXPECT_THAT(watcher_.stale(when(2)), IsEmpty());
}

TEST_F(WatcherTest, NobodyWaitsForAGpuThatGetsNoJobs) {
  see(kFirst, 1, {});
  fail_to_see(kSecond, 1, "lost");
  EXPECT_THAT(watcher_.stale(when(2)), IsEmpty());
}

// ---- What is told ----------------------------------------------------------------------------

TEST_F(WatcherTest, ATenantsUseIsToldAndNotRepeated) {
  const auto told = measured(see(kFirst, 1, {{10, kWatchedGib * 2, OfJob{JobId(1)}}}));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->used, kWatchedGib * 2);
  EXPECT_EQ(told->foreign, Bytes(0));
  ASSERT_THAT(told->tenants, SizeIs(1));
  EXPECT_EQ(told->tenants[0].job, JobId(1));
  EXPECT_FALSE(measured(see(kFirst, 2, {{10, kWatchedGib * 2, OfJob{JobId(1)}}})));
  EXPECT_EQ(watcher_.told(kFirst)->used, kWatchedGib * 2);
  EXPECT_EQ(watcher_.latest(kFirst)->began, when(2));
  EXPECT_EQ(watcher_.told(kSecond), nullptr);
}

TEST_F(WatcherTest, WhatStrangersHoldIsForeign) {
  const auto told = measured(
      see(kFirst, 1, {{10, kWatchedGib, OfJob{JobId(1)}}, {11, kWatchedGib * 3, OfStranger{}}}));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->foreign, kWatchedGib * 3);
  EXPECT_THAT(told->tenants, SizeIs(1));
}

TEST_F(WatcherTest, AJobOnAGpuItHasNoChargeOnIsForeignThereAndNamed) {
  const auto told = measured(see(kSecond, 1, {{10, kWatchedGib, OfJob{JobId(1)}}}));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->foreign, kWatchedGib);
  ASSERT_THAT(told->tenants, SizeIs(1));
  EXPECT_EQ(told->tenants[0].job, JobId(1));
  EXPECT_EQ(told->tenants[0].bytes, kWatchedGib);
  EXPECT_EQ(watcher_.peak_of(JobId(1)), Bytes(0)) << "nothing to learn from";
  const auto found = watcher_.trespasses_of(*engine_.view().find(JobId(1)));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].gpu, kSecond);
  EXPECT_EQ(found[0].pid, 10);
  EXPECT_EQ(found[0].bytes, kWatchedGib);
  EXPECT_THAT(watcher_.trespasses_of(*engine_.view().find(JobId(2))), IsEmpty());
}

/// It may be there from the attempt before.
TEST_F(WatcherTest, AJobOnAGpuItHadBeforeItsBerthIsAStrangerThere) {
  const auto told = measured(see(kSecond, 0, {{10, kWatchedGib, OfJob{JobId(1)}}}));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->foreign, kWatchedGib);
  EXPECT_THAT(told->tenants, IsEmpty());
}

TEST_F(WatcherTest, AJobOnAnotherGpuIsAStrangerThereWhereOthersGiveThemOut) {
  Watcher elsewhere(2, kLongest, Trespass::IsForeign);
  const auto told = measured(
      elsewhere.on_look(look(kSecond, 1, {{10, kWatchedGib, OfJob{JobId(1)}}}), engine_.view()));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->foreign, kWatchedGib);
  EXPECT_THAT(told->tenants, IsEmpty());
}

TEST_F(WatcherTest, WhoHasVanishedIsForeignToo) {
  EXPECT_EQ(measured(see(kFirst, 1, {{10, kWatchedGib, OfNobody{}}}))->foreign, kWatchedGib);
}

TEST_F(WatcherTest, ALookFromBeforeAChangeKeepsTheForeignFigure) {
  ASSERT_EQ(measured(see(kFirst, 1, {{11, kWatchedGib, OfStranger{}}}))->foreign, kWatchedGib);
  watcher_.changed({kFirst}, when(2));
  const auto told = measured(see(kFirst, 2, {{12, kWatchedGib * 5, OfStranger{}}}));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->foreign, kWatchedGib);
  EXPECT_EQ(measured(see(kFirst, 3, {{12, kWatchedGib * 5, OfStranger{}}}))->foreign,
            kWatchedGib * 5);
}

// ---- Leaving ---------------------------------------------------------------------------------

TEST_F(WatcherTest, WithoutGpusOneIsReleasedAtOnce) {
  watcher_.leaves(JobId(9), Attempt(1), {}, when(1));
  EXPECT_THAT(released(), testing::ElementsAre(JobId(9)));
  EXPECT_THAT(released(), IsEmpty());
  EXPECT_FALSE(watcher_.is_leaving(JobId(9)));
}

TEST_F(WatcherTest, AnAttemptIsReleasedOnceItsMemoryIsSeenFree) {
  watcher_.leaves(JobId(1), Attempt(1), {kFirst}, when(5));
  EXPECT_TRUE(watcher_.is_leaving(JobId(1)));
  EXPECT_EQ(watcher_.left(), std::set<GpuId>{kFirst});
  see(kFirst, 4, {});  // begun before the end: what it did not see may have come after
  EXPECT_THAT(released(), IsEmpty());
  see(kFirst, 6, {{10, kWatchedGib, OfJob{JobId(1)}}});
  EXPECT_THAT(released(), IsEmpty());
  see(kFirst, 7, {{11, kWatchedGib, OfJob{JobId(2)}}, {12, kWatchedGib, OfStranger{}}});
  EXPECT_THAT(released(), testing::ElementsAre(JobId(1)));
  EXPECT_THAT(watcher_.left(), IsEmpty());
}

TEST_F(WatcherTest, EveryGpuMustBeSeenFree) {
  watcher_.leaves(JobId(1), Attempt(3), {kFirst, kSecond}, when(5));
  see(kFirst, 6, {});
  EXPECT_THAT(released(), IsEmpty());
  EXPECT_EQ(watcher_.left(), std::set<GpuId>{kSecond});
  see(kFirst, 7, {{10, kWatchedGib, OfJob{JobId(1)}}});  // seen free before: that stands
  see(kSecond, 8, {});
  const auto inputs = watcher_.take_released();
  ASSERT_THAT(inputs, SizeIs(1));
  EXPECT_EQ(std::get<Released>(inputs[0]).attempt, Attempt(3));
}

TEST_F(WatcherTest, AnEndMakesLooksStale) {
  see(kFirst, 1, {});
  watcher_.leaves(JobId(1), Attempt(1), {kFirst}, when(1));
  EXPECT_TRUE(watcher_.stale(when(1)).contains(kFirst));
}

TEST_F(WatcherTest, AGpuThatCannotBeLookedAtHoldsNobodyUp) {
  watcher_.leaves(JobId(1), Attempt(1), {kFirst}, when(5));
  watcher_.leaves(JobId(2), Attempt(1), {kSecond}, when(5));
  fail_to_see(kFirst, 4, "lost");  // begun before the end: another look is on its way
  EXPECT_THAT(released(), IsEmpty());
  EXPECT_EQ(health(fail_to_see(kFirst, 6, "lost")), std::nullopt);  // told with the first
  EXPECT_THAT(released(), testing::ElementsAre(JobId(1)));
  watcher_.on_silence({kSecond}, when(9));
  EXPECT_THAT(released(), testing::ElementsAre(JobId(2)));
}

TEST_F(WatcherTest, ADriverWithoutAListOfProcessesHoldsNobodyUp) {
  watcher_.leaves(JobId(1), Attempt(1), {kFirst}, when(5));
  Look blind = look(kFirst, 6, {});
  blind.sample->processes = std::nullopt;
  watcher_.on_look(std::move(blind), engine_.view());
  EXPECT_THAT(released(), testing::ElementsAre(JobId(1)));
}

// ---- Health ----------------------------------------------------------------------------------

TEST_F(WatcherTest, AFailedLookIsToldOnceAndSoIsTheRecovery) {
  EXPECT_EQ(health(fail_to_see(kFirst, 1, "GPU is lost")), false);
  EXPECT_EQ(watcher_.problem(kFirst), "GPU is lost");
  EXPECT_EQ(health(fail_to_see(kFirst, 2, "GPU is still lost")), std::nullopt);
  EXPECT_EQ(watcher_.problem(kFirst), "GPU is still lost");
  EXPECT_EQ(health(see(kFirst, 3, {})), true);
  EXPECT_EQ(watcher_.problem(kFirst), "");
  EXPECT_EQ(health(see(kFirst, 4, {})), std::nullopt);
}

TEST_F(WatcherTest, AGpuThatIsLostHasFailedAndOneThatIsSilentHasNot) {
  fail_to_see(kFirst, 1, "nvmlDeviceGetMemoryInfo_v2 on GPU 0: off the bus", ErrorCode::Lost);
  EXPECT_EQ(watcher_.failure(kFirst), "nvmlDeviceGetMemoryInfo_v2 on GPU 0: off the bus");
  see(kFirst, 2, {});
  EXPECT_EQ(watcher_.failure(kFirst), "") << "it came back";
  fail_to_see(kFirst, 3, "nvmlDeviceGetMemoryInfo_v2 on GPU 0: Timeout, not GPU is lost");
  EXPECT_EQ(watcher_.failure(kFirst), "") << "words are not data";
  watcher_.on_silence({kFirst}, when(4));
  EXPECT_EQ(watcher_.failure(kFirst), "");
  watcher_.on_fault(kFirst, "Xid 48");
  EXPECT_EQ(watcher_.failure(kFirst), "Xid 48");
}

TEST_F(WatcherTest, SilenceIsAProblemUntilTheDriverAnswers) {
  EXPECT_EQ(health(watcher_.on_silence({kFirst}, when(3))), false);
  EXPECT_EQ(watcher_.problem(kFirst), "the driver does not answer");
  EXPECT_EQ(health(watcher_.on_silence({kFirst}, when(4))), std::nullopt);
  EXPECT_EQ(health(see(kFirst, 5, {})), true);
}

TEST_F(WatcherTest, AFaultIsForGood) {
  EXPECT_EQ(health(watcher_.on_fault(kFirst, "Xid 79")), false);
  EXPECT_EQ(health(see(kFirst, 1, {})), std::nullopt);
  EXPECT_EQ(health(fail_to_see(kFirst, 2, "lost")), std::nullopt);
  EXPECT_EQ(watcher_.problem(kFirst), "Xid 79");
  EXPECT_EQ(health(watcher_.on_fault(kFirst, "Xid 48")), std::nullopt);
}

TEST_F(WatcherTest, AFaultyGpuIsStillLookedAt) {
  watcher_.on_fault(kFirst, "Xid 79");
  EXPECT_TRUE(measured(see(kFirst, 1, {{10, kWatchedGib, OfJob{JobId(1)}}})));
}

TEST_F(WatcherTest, AFaultOfASilentGpuStandsToo) {
  watcher_.on_silence({kFirst}, when(3));
  EXPECT_EQ(health(watcher_.on_fault(kFirst, "Xid 79")), std::nullopt);  // unhealthy already
  EXPECT_EQ(health(see(kFirst, 5, {})), std::nullopt);
}

// ---- Who waits -------------------------------------------------------------------------------

/// Both jobs hold berths; a step that gives one back may start its job at once, on another GPU.
TEST_F(WatcherTest, WhoGivesABerthBackToRunAgainWaits) {
  const Attempt first(1);
  EXPECT_FALSE(somebody_waits(engine_.view(), {}));
  const std::vector<Input> failed = {StartFailed{JobId(1), first}};
  EXPECT_TRUE(somebody_waits(engine_.view(), failed));
  const std::vector<Input> released = {Ticked{}, Released{JobId(2), first}};
  EXPECT_TRUE(somebody_waits(engine_.view(), released));
  engine_.step(when(1), std::vector<Input>{Exited{JobId(2), first}});  // for good
  EXPECT_FALSE(somebody_waits(engine_.view(), released));
  engine_.step(when(2), released);
  EXPECT_FALSE(somebody_waits(engine_.view(), {}));
  engine_.step(when(3), std::vector<Input>{HoldAsked{JobId(9)}, GpuHealth{kSecond, false}});
  JobSpec spec;
  spec.request.gpu = {.count = GpuCount(2), .vram = kWatchedGib, .sharing = Sharing::Alone};
  engine_.step(when(4), std::vector<Input>{Submitted{JobId(3), spec}});
  EXPECT_TRUE(somebody_waits(engine_.view(), {}));
}

// ---- Between two usual looks -----------------------------------------------------------------

class ManyLooks : public WatcherTest {
 protected:
  /// A look so many milliseconds after one at 10 s that was told.
  std::optional<Measured> after(int millis, const std::vector<On>& processes) {
    Look seen = look(kFirst, 10, processes);
    seen.began += Duration(millis * 1000);
    return measured(watcher_.on_look(std::move(seen), engine_.view()));
  }
  void SetUp() override {
    ASSERT_TRUE(after(0, {{10, kQuarter, OfJob{JobId(1)}}}));
    const auto& shares = engine_.view().find(JobId(1))->grant.shares;
    ASSERT_EQ(shares.front().granted, kWatchedGib);
  }
};

TEST_F(ManyLooks, GrowthWithinTheChargeWaitsForTheNextUsualLook) {
  EXPECT_FALSE(after(20, {{10, kHalf, OfJob{JobId(1)}}}));
  EXPECT_EQ(watcher_.latest(kFirst)->sample->used, kHalf) << "but it is known";
  const auto told = after(900, {{10, kHalf, OfJob{JobId(1)}}});
  ASSERT_TRUE(told);
  EXPECT_EQ(told->tenants[0].bytes, kHalf);
}

TEST_F(ManyLooks, AnOverrunAndItsEndAreToldAtOnce) {
  EXPECT_TRUE(after(20, {{10, kWatchedGib * 2, OfJob{JobId(1)}}}));
  EXPECT_TRUE(after(40, {{10, kHalf, OfJob{JobId(1)}}}));
  EXPECT_FALSE(after(60, {{10, kQuarter, OfJob{JobId(1)}}}));
}

TEST_F(ManyLooks, ForeignUseIsToldAtOnce) {
  EXPECT_TRUE(after(20, {{10, kQuarter, OfJob{JobId(1)}}, {11, kWatchedGib, OfStranger{}}}));
}

TEST_F(ManyLooks, TheFirstLookAfterAChangeIsTold) {
  watcher_.changed({kFirst}, when(10) + Duration(10'000));
  EXPECT_TRUE(after(20, {{10, kHalf, OfJob{JobId(1)}}}));
}

/// The look before knew whose the process was, and told less of it.
TEST_F(WatcherTest, AccountsOfEndedProcessesRaiseThePeakAlsoAfterTheEnd) {
  see(kFirst, 1, {{10, kHalf, OfJob{JobId(1)}}, {11, kQuarter, OfStranger{}}});
  const auto without = [&](int second, const std::vector<GpuProcess>& ended) {
    Look seen = look(kFirst, second, {});
    seen.sample->ended = ended;
    watcher_.on_look(std::move(seen), engine_.view());
  };
  without(2, {{.pid = 10, .bytes = kWatchedGib}, {.pid = 11, .bytes = kWatchedGib * 9}});
  EXPECT_EQ(watcher_.peak_of(JobId(1)), kWatchedGib);
  see(kFirst, 3, {{12, kHalf, OfJob{JobId(1)}}});
  watcher_.forget_peak(JobId(1));  // it has ended, and that is written
  without(4, {{.pid = 12, .bytes = kWatchedGib * 3}});
  EXPECT_EQ(watcher_.peak_of(JobId(1)), Bytes(0)) << "of the next attempt";
  EXPECT_EQ(watcher_.take_late_peak(JobId(1)), kWatchedGib * 3);
  EXPECT_EQ(watcher_.take_late_peak(JobId(1)), Bytes(0));
}

}  // namespace
}  // namespace berth::live
