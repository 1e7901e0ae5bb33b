// Goal: a grant may have any number of GPUs that the job runs with, its lease ends by the engine's
// own clock, and what it attained, its user holds and its limits count is what was granted.
//
// Method: an engine whose policy is the test's script; figures are worked out by hand.
#include <gtest/gtest.h>

#include <vector>

#include "engine/rig.hpp"

namespace berth::test {
namespace {

using namespace literals;

class Elastic : public testing::Test {
 protected:
  /// Asks for 4 GPUs and runs on 2 to 8.
  static JobSpec spec() {
    JobSpec spec = shared(4, 4_GiB);
    spec.request.gpu.min = 2_gpus;
    spec.request.gpu.max = 8_gpus;
    return spec;
  }
  GpuTime attained(JobId id) { return rig_.engine().view().job(id).attained(); }
  Start lease(JobId id, std::initializer_list<std::uint32_t> gpus, Duration term) {
    return {.job = id, .placement = on(rig_.cluster(), gpus), .term = term};
  }

  Rig rig_{nodes_of(2, 4)};
};

TEST_F(Elastic, StartsOnAnyNumberFromTheFewestToTheMost) {
  const JobId id = rig_.submit(spec());
  EXPECT_TRUE(rig_.start(id, {0}).list.empty());
  EXPECT_EQ(rig_.engine().dropped(), 1U);
  EXPECT_NE(only<Launch>(rig_.start(id, {0, 1, 2})), nullptr);
  EXPECT_EQ(rig_.account().gpus, 3_gpus);
  EXPECT_EQ(rig_.engine().view().job(id).gpus(), 3_gpus);
  const JobId rigid = rig_.submit(shared(2, 4_GiB));
  EXPECT_TRUE(rig_.start(rigid, {3}).list.empty());
}

TEST_F(Elastic, AttainsWhatItWasGranted) {
  const JobId id = rig_.run(spec(), {0, 1});
  rig_.at(10).preempt(id, PreemptHow::Suspend);
  rig_.at(12).released(id);
  EXPECT_EQ(attained(id), GpuTime(24'000'000));
  rig_.at(20).start(id, {0, 1, 2, 3, 4, 5, 6, 7});
  rig_.at(25).tell({Ticked{}});
  EXPECT_EQ(attained(id), GpuTime(24'000'000 + 40'000'000));
  rig_.at(30).exited(id);
  rig_.released(id);
  const auto ended = rig_.engine().view().finished_after(0);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].attained, GpuTime(24'000'000 + 80'000'000));
  EXPECT_EQ(ended[0].ran, seconds(22));
  EXPECT_EQ(ended[0].gpus, 4_gpus);
}

TEST_F(Elastic, ItsUsersServiceIsOfTheGpusGranted) {
  const JobId id = rig_.run(spec(), {0, 1});
  EXPECT_EQ(rig_.account().share_ppb, 250'000'000);  // 2 of 8 GPUs; of the memory less
  rig_.at(10).exited(id);
  rig_.released(id);
  const Account account = rig_.account();
  EXPECT_EQ(account.gpus, 0_gpus);
  EXPECT_NEAR(static_cast<double>(account.service.raw()), 2.5e9, 1e5) << "hardly any has decayed";
}

TEST_F(Elastic, ItsUsersLimitCountsTheGpusGranted) {
  Rig rig(nodes_of(2, 4), {.limits = {.gpus = 4_gpus}});
  const JobId id = rig.submit(spec());
  EXPECT_TRUE(rig.start(id, {0, 1, 2, 3, 4}).list.empty());
  EXPECT_NE(only<Launch>(rig.start(id, {0, 1, 2, 3})), nullptr);
}

TEST_F(Elastic, IsRestoredWithWhatItHolds) {
  const JobId id = rig_.run(spec(), {0, 1, 2});
  rig_.at(5).tell({Reported{id, "loss", 7}});
  const auto restored = Engine::restore(rig_.engine().save(), std::make_unique<Script>());
  ASSERT_TRUE(restored.has_value()) << restored.error().message;
  EXPECT_EQ(restored->view().job(id).attained(), GpuTime(15'000'000));
  EXPECT_EQ(restored->view().job(id).metric("loss"), 7);
  EXPECT_EQ(restored->view().tenants_of(GpuId(2)).size(), 1U);
  EXPECT_EQ(restored->check(), std::nullopt);
}

TEST_F(Elastic, ARangeThatMakesNoSenseIsRefused) {
  JobSpec odd = spec();
  odd.request.gpu.min = 5_gpus;
  const auto* const finished = only<Finished>(rig_.tell({Submitted{.job = JobId(9), .spec = odd}}));
  ASSERT_NE(finished, nullptr);
  EXPECT_EQ(finished->note, "job 9: runs on 5 to 8 GPUs and asks 4, which must be between");
}

// ---- Leases ----------------------------------------------------------------------------------

TEST_F(Elastic, ALeaseEndsByItself) {
  const JobId id = rig_.submit(spec());
  EXPECT_EQ(rig_.decide({lease(id, {0, 1}, seconds(60))}).wake_at, kStart + seconds(60));
  rig_.tell({Started{id, Attempt(1)}});
  EXPECT_TRUE(rig_.at(59).tell({Ticked{}}).list.empty());
  const auto* const stop = only<Stop>(rig_.at(60).tell({Ticked{}}));
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->why, StopFor::LeaseEnd);
  EXPECT_EQ(stop->how, PreemptHow::Suspend);
  rig_.released(id);
  EXPECT_EQ(rig_.state(id), JobState::Suspended);
  EXPECT_EQ(rig_.job(id).preemptions, 0);
  EXPECT_EQ(rig_.job(id).lease, kNever);
}

TEST_F(Elastic, ALeaseIsRenewedWhereTheJobRuns) {
  const JobId id = rig_.submit(spec());
  rig_.decide({lease(id, {0, 1}, seconds(60))});
  EXPECT_EQ(rig_.at(50).decide({lease(id, {0, 1}, seconds(60))}).wake_at, kStart + seconds(110));
  EXPECT_TRUE(rig_.at(60).tell({Ticked{}}).list.empty());
  rig_.decide({lease(id, {0, 2}, seconds(60))});
  EXPECT_EQ(rig_.engine().dropped(), 1U) << "elsewhere is no renewal";
  EXPECT_NE(only<Stop>(rig_.at(110).tell({Ticked{}})), nullptr);
}

TEST_F(Elastic, ALeaseOutlivesARestart) {
  const JobId id = rig_.submit(spec());
  rig_.decide({lease(id, {0, 1}, seconds(60))});
  auto restored = Engine::restore(rig_.engine().save(), std::make_unique<Script>());
  ASSERT_TRUE(restored.has_value()) << restored.error().message;
  EXPECT_NE(only<Stop>(restored->step(kStart + seconds(60), {})), nullptr);
}

TEST_F(Elastic, AJobThatEndsBeforeItsLeaseLeavesNoneBehind) {
  const JobId id = rig_.submit(spec());
  rig_.decide({lease(id, {0, 1}, seconds(60))});
  rig_.tell({Started{id, Attempt(1)}});
  rig_.at(10).exited(id);
  EXPECT_EQ(rig_.released(id).wake_at, std::nullopt);
}

/// Where nothing is kept of a stopped job's work, the end of a lease costs it what preemption does.
TEST_F(Elastic, ALeaseThatLosesWorkCountsAsAPreemption) {
  Rig rig(nodes_of(2, 4), {.can_suspend = false});
  const JobId id = rig.submit(spec());
  rig.decide({lease(id, {0, 1}, seconds(60))});
  EXPECT_EQ(only<Stop>(rig.at(60).tell({Ticked{}}))->how, PreemptHow::Requeue);
  EXPECT_EQ(rig.job(id).preemptions, 1);
}

// ---- Shares and roles ------------------------------------------------------------------------

TEST_F(Elastic, AShareOfComputeIsPromisedToItsTenant) {
  const JobId first = rig_.submit(shared(1, 1_GiB));
  Start start{.job = first, .placement = on(rig_.cluster(), {0})};
  start.milli = GpuMilli(700);
  start.role = Role::Guest;
  start.share = ShareMode::Mps;
  const auto* const launch = only<Launch>(rig_.decide({start}));
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->grant.milli, GpuMilli(700));
  EXPECT_EQ(launch->grant.role, Role::Guest);
  EXPECT_EQ(launch->grant.share, ShareMode::Mps);
  EXPECT_EQ(rig_.gpu(0).milli, GpuMilli(700));
  start.job = rig_.submit(shared(1, 1_GiB));
  EXPECT_TRUE(rig_.decide({start}).list.empty()) << "1400 thousandths of one GPU";
  start.milli = GpuMilli(300);
  start.share = ShareMode::Mig;
  EXPECT_TRUE(rig_.decide({start}).list.empty()) << "no way to share a GPU that is not split";
  start.share = ShareMode::TimeSlice;
  EXPECT_NE(only<Launch>(rig_.decide({start})), nullptr);
}

// ---- Who is on a GPU, and what jobs report -----------------------------------------------------

TEST_F(Elastic, TheTenantsOfAGpuAreThoseThatHoldIt) {
  const JobId one = rig_.run(shared(1, 1_GiB), {0});
  const JobId two = rig_.run(shared(2, 1_GiB), {0, 1});
  const auto tenants = [&](std::uint32_t gpu) {
    const auto list = rig_.engine().view().tenants_of(GpuId(gpu));
    return std::vector<JobId>(list.begin(), list.end());
  };
  EXPECT_EQ(tenants(0), (std::vector{one, two}));
  EXPECT_EQ(tenants(1), (std::vector{two}));
  rig_.exited(one);
  EXPECT_EQ(tenants(0), (std::vector{one, two})) << "until its memory is seen free";
  rig_.released(one);
  EXPECT_EQ(tenants(0), (std::vector{two}));
}

TEST_F(Elastic, OnlySoManyMetricsAreKept) {
  const JobId id = rig_.run(shared(1, 1_GiB), {0});
  for (int n = 0; n < 20; ++n) rig_.tell({Reported{id, "m" + std::to_string(n), n}});
  rig_.tell({Reported{id, "m3", 99}, Reported{id, "done", 5}});
  const JobView job = rig_.engine().view().job(id);
  EXPECT_EQ(rig_.job(id).metrics.size(), kMostMetrics);
  EXPECT_EQ(job.metric("m3"), 99);
  EXPECT_EQ(job.metric("m19"), std::nullopt);
  EXPECT_EQ(job.progress().done, 5);
}

}  // namespace
}  // namespace berth::test
