// Goal: charges, measurements, foreign use, health and limits decide which jobs may start, in every
// admission mode.
//
// Method: a scripted policy asks for exactly one start; the engine takes or drops it. The modes are
// also compared on one scenario under a real policy.
#include <gtest/gtest.h>

#include "engine/rig.hpp"
#include "policy/registry.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;

class Memory : public testing::Test {
 protected:
  Memory() : rig_(nodes_of(2, 2)) {}

  /// True if the engine lets a new job start there.
  bool starts(const JobSpec& spec, std::initializer_list<std::uint32_t> gpus) {
    const JobId id = rig_.submit(spec);
    rig_.start(id, gpus);
    return rig_.state(id) == JobState::Starting;
  }
  void measure(std::uint32_t gpu, Bytes foreign, std::vector<TenantUse> tenants) {
    Bytes used = foreign;
    for (const TenantUse& tenant : tenants) used += tenant.bytes;
    rig_.tell({Measured{GpuId(gpu), foreign, used, std::move(tenants)}});
  }
  void configure(const Settings& settings) { rig_.tell({Configured{settings}}); }
  void configure(AdmissionMode mode) { configure(Settings{.admission = {.mode = mode}}); }

  Rig rig_;
};

// ---- Growth ----------------------------------------------------------------------------------

TEST_F(Memory, AMeasuredExcessGrowsTheCharge) {
  const JobId id = rig_.run(shared(1, 10_GiB), {0});
  measure(0, Bytes(0), {{id, 12_GiB}});
  const Share& share = rig_.job(id).grant.shares[0];
  EXPECT_EQ(share.charge, 12_GiB);
  EXPECT_EQ(share.granted, 10_GiB);
  EXPECT_EQ(rig_.gpu(0).charged, 12_GiB);
  EXPECT_EQ(rig_.account().charges, 12_GiB);
}

TEST_F(Memory, AChargeDoesNotShrink) {
  const JobId id = rig_.run(shared(1, 10_GiB), {0});
  measure(0, Bytes(0), {{id, 12_GiB}});
  measure(0, Bytes(0), {{id, 3_GiB}});
  EXPECT_EQ(rig_.job(id).grant.shares[0].charge, 12_GiB);
  EXPECT_EQ(rig_.gpu(0).used, 3_GiB);
}

TEST_F(Memory, GrowthCountsOnTheGpuWhereItWasSeen) {
  const JobId id = rig_.run(shared(2, 10_GiB), {0, 1});
  measure(1, Bytes(0), {{id, 12_GiB}});
  EXPECT_EQ(rig_.gpu(0).charged, 10_GiB);
  EXPECT_EQ(rig_.gpu(1).charged, 12_GiB);
  measure(2, Bytes(0), {{id, 20_GiB}});  // where it has no berth
  EXPECT_EQ(rig_.gpu(2).charged, Bytes(0));
  EXPECT_EQ(rig_.account().charges, 22_GiB);
}

TEST_F(Memory, GrownChargesGoWithTheJob) {
  const JobId id = rig_.run(shared(1, 10_GiB), {0});
  measure(0, Bytes(0), {{id, 12_GiB}});
  rig_.exited(id);
  rig_.released(id);
  EXPECT_EQ(rig_.gpu(0).charged, Bytes(0));
  EXPECT_EQ(rig_.account().charges, Bytes(0));
}

TEST_F(Memory, AContextPerProcessIsChargedToo) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = 1, .vram = 24_GiB, .context = 300_MiB});
  Rig rig(std::move(cluster));
  JobSpec spec = shared(1, 10_GiB);
  spec.request.gpu.processes = 2;
  rig.run(spec, {0});
  EXPECT_EQ(rig.gpu(0).charged, 10_GiB + 600_MiB);
}

TEST_F(Memory, PressureStopsAdmissionUntilItIsOver) {
  const JobId small = rig_.run(shared(1, 10_GiB), {0});
  const JobId large = rig_.run(shared(1, 10_GiB), {0});
  measure(0, Bytes(0), {{large, 20_GiB}});
  EXPECT_TRUE(is_under_pressure(rig_.cluster().gpu(GpuId(0)), rig_.gpu(0)));
  EXPECT_FALSE(starts(shared(1, 1_MiB), {0}));
  EXPECT_EQ(rig_.state(small), JobState::Running);  // no job is evicted for it
  rig_.exited(large);
  EXPECT_FALSE(starts(shared(1, 1_MiB), {0}));
  rig_.released(large);
  EXPECT_TRUE(starts(shared(1, 1_MiB), {0}));
}

// ---- The inequality --------------------------------------------------------------------------

TEST_F(Memory, TheFirstTenantMayFillTheGpu) { EXPECT_TRUE(starts(shared(1, 24_GiB), {0})); }

TEST_F(Memory, TheSecondTenantLeavesTheGuardBandFree) {
  rig_.run(shared(1, 12_GiB), {0});
  EXPECT_FALSE(starts(shared(1, 12_GiB - 511_MiB), {0}));
  EXPECT_TRUE(starts(shared(1, 12_GiB - 512_MiB), {0}));
}

TEST_F(Memory, ForeignUseIsNotGranted) {
  measure(0, 6_GiB, {});
  EXPECT_FALSE(starts(shared(1, 18_GiB + 1_MiB), {0}));
  EXPECT_TRUE(starts(shared(1, 18_GiB), {0}));
}

TEST_F(Memory, AWholeGpuMayHaveForeignUseWithinTheGuardBand) {
  measure(0, 513_MiB, {});
  EXPECT_FALSE(starts(whole(1), {0}));
  measure(0, 512_MiB, {});
  ASSERT_TRUE(starts(whole(1), {0}));
  EXPECT_EQ(rig_.gpu(0).charged, 24_GiB - 512_MiB);
}

TEST_F(Memory, ForeignUseThatGrowsStopsAdmissionOnly) {
  const JobId id = rig_.run(shared(1, 20_GiB), {0});
  measure(0, 8_GiB, {});
  EXPECT_EQ(rig_.state(id), JobState::Running);
  EXPECT_FALSE(starts(shared(1, 1_MiB), {0}));
  measure(0, Bytes(0), {});
  EXPECT_TRUE(starts(shared(1, 1_MiB), {0}));
}

TEST_F(Memory, AWholeGpuIsShared) {
  rig_.run(whole(1), {0});
  EXPECT_FALSE(starts(shared(1, 1_MiB), {0}));
  rig_.run(shared(1, 1_GiB), {1});
  EXPECT_FALSE(starts(whole(1), {1}));
}

TEST_F(Memory, AJobThatSaysNothingGetsAWholeGpu) {
  rig_.run(shared(1, Bytes(0)), {0});
  EXPECT_EQ(rig_.gpu(0).charged, 24_GiB);
  EXPECT_TRUE(rig_.gpu(0).alone);
}

TEST_F(Memory, ComputeSharesAndSlotsRunOut) {
  JobSpec half = shared(1, 1_GiB);
  half.request.gpu.milli = GpuMilli(500);
  EXPECT_TRUE(starts(half, {0}));
  EXPECT_TRUE(starts(half, {0}));
  half.request.gpu.milli = GpuMilli(1);
  EXPECT_FALSE(starts(half, {0}));
  for (int n = 0; n < 4; ++n) EXPECT_TRUE(starts(shared(1, 1_GiB), {1}));
  EXPECT_FALSE(starts(shared(1, 1_GiB), {1}));
}

TEST_F(Memory, FiguresThatNoGpuCanHaveAreIgnored) {
  const JobId id = rig_.run(shared(1, 10_GiB), {0});
  measure(0, 1_GiB, {{id, 11_GiB}});
  const GpuUse before = rig_.gpu(0);
  const Bytes huge(std::int64_t{1} << 62);
  for (const Bytes wrong : {Bytes(-1), huge}) {
    rig_.tell({Measured{GpuId(0), wrong, Bytes(0), {}}, Measured{GpuId(0), Bytes(0), wrong, {}},
               Measured{GpuId(0), Bytes(0), Bytes(0), {{id, wrong}}}});
  }
  EXPECT_EQ(rig_.gpu(0), before);
}

// ---- Estimates -------------------------------------------------------------------------------

/// A job that states no memory, on a GPU whose context takes 300 MiB.
class Estimate : public testing::Test {
 protected:
  static Cluster cluster() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n", .gpus = 1, .vram = 24_GiB, .context = 300_MiB});
    return cluster;
  }
  /// What the job is charged under a real policy; nothing if it did not start.
  static Bytes charge(std::vector<Input> inputs) {
    Engine engine(cluster(), {}, *make_policy("fifo-skip", "first-fit"));
    engine.step(kStart, inputs);
    EXPECT_EQ(engine.check(), std::nullopt);
    const Job* const job = engine.view().find(JobId(1));
    return job == nullptr || job->grant.shares.empty() ? Bytes(-1) : job->grant.shares[0].charge;
  }
  static Bytes charge_when_submitted_with(Bytes estimate) {
    JobSpec spec = shared(1, Bytes(0));
    spec.vram_estimate = estimate;
    return charge({Submitted{.job = JobId(1), .spec = spec}});
  }
};

TEST_F(Estimate, IsChargedWithTheContext) {
  EXPECT_EQ(charge_when_submitted_with(6_GiB), 6_GiB + 300_MiB);
}

TEST_F(Estimate, TakesAWholeGpuWhereNoGpuIsLargeEnough) {
  for (const Bytes estimate : {24_GiB - 299_MiB, 24_GiB, 40_GiB}) {
    EXPECT_EQ(charge_when_submitted_with(estimate), 24_GiB);
  }
}

TEST_F(Estimate, BelowZeroIsNone) { EXPECT_EQ(charge_when_submitted_with(Bytes(-1)), 24_GiB); }

// ---- Health ----------------------------------------------------------------------------------

TEST_F(Memory, ALostGpuTakesNobody) {
  const JobId id = rig_.run(shared(1, 4_GiB), {0});
  rig_.tell({GpuHealth{GpuId(0), false}});
  EXPECT_EQ(rig_.state(id), JobState::Running);
  EXPECT_FALSE(starts(shared(1, 4_GiB), {0}));
  EXPECT_TRUE(starts(shared(1, 4_GiB), {1}));
  rig_.tell({GpuHealth{GpuId(0), true}});
  EXPECT_TRUE(starts(shared(1, 4_GiB), {0}));
}

TEST_F(Memory, ALostNodeTakesNobody) {
  rig_.tell({NodeHealth{NodeId(0), false}});
  EXPECT_FALSE(starts(shared(1, 4_GiB), {1}));
  EXPECT_FALSE(starts(shared(0, Bytes(0)), {}));
  EXPECT_TRUE(starts(shared(1, 4_GiB), {2}));
  rig_.tell({NodeHealth{NodeId(0), true}});
  EXPECT_TRUE(starts(shared(1, 4_GiB), {1}));
}

TEST_F(Memory, ANodeThatComesBackDoesNotHealItsGpus) {
  rig_.tell({GpuHealth{GpuId(0), false}, NodeHealth{NodeId(0), false}});
  rig_.tell({NodeHealth{NodeId(0), true}});
  EXPECT_FALSE(starts(shared(1, 4_GiB), {0}));
  rig_.tell({NodeHealth{NodeId(0), false}, GpuHealth{GpuId(0), true}});
  EXPECT_FALSE(starts(shared(1, 4_GiB), {0}));
  rig_.tell({NodeHealth{NodeId(0), true}});
  EXPECT_TRUE(starts(shared(1, 4_GiB), {0}));
}

// ---- Admission modes -------------------------------------------------------------------------

/// The jobs of one scenario that start: 6 GiB are in foreign use on one GPU of 24.
std::vector<std::uint64_t> started_under(AdmissionMode mode) {
  Engine engine(nodes_of(1, 1), {.settings = {.admission = {.mode = mode}}},
                *make_policy("fifo-skip", "first-fit"));
  engine.step(kStart, std::vector<Input>{Measured{GpuId(0), 6_GiB, 6_GiB, {}}});
  std::vector<Input> jobs;
  for (const Bytes vram : {16_GiB, 10_GiB, 8_GiB, 24_GiB}) {
    jobs.push_back(Submitted{.job = JobId(jobs.size() + 1), .spec = shared(1, vram)});
  }
  engine.step(kStart, jobs);
  EXPECT_EQ(engine.check(), std::nullopt);
  std::vector<std::uint64_t> started;
  for (const JobId id : engine.view().running()) started.push_back(id.value());
  return started;
}

using Ids = std::vector<std::uint64_t>;

TEST(AdmissionModes, GuaranteeCountsForeignUseAndCharges) {
  EXPECT_EQ(started_under(AdmissionMode::Guarantee), Ids({1}));  // 6 + 16, and no 10 or 8 more
}
TEST(AdmissionModes, DeclaredCountsChargesOnly) {
  EXPECT_EQ(started_under(AdmissionMode::Declared), Ids({1, 3}));  // 16 + 8
}
TEST(AdmissionModes, FreeMemoryCountsWhatIsMeasuredNow) {
  EXPECT_EQ(started_under(AdmissionMode::FreeMemory), Ids({1, 2, 3}));  // each beside the 6
}
TEST(AdmissionModes, NoneCountsNothing) {
  EXPECT_EQ(started_under(AdmissionMode::None), Ids({1, 2, 3, 4}));
}

TEST_F(Memory, TheModeChangesFromTheNextStartOn) {
  rig_.run(shared(1, 20_GiB), {0});
  EXPECT_FALSE(starts(shared(1, 20_GiB), {0}));
  configure(AdmissionMode::None);
  EXPECT_TRUE(starts(shared(1, 20_GiB), {0}));
  configure(AdmissionMode::FreeMemory);
  EXPECT_TRUE(starts(shared(1, 20_GiB), {0}));  // none of it was seen yet
  configure(AdmissionMode::Declared);
  EXPECT_FALSE(starts(shared(1, 1_MiB), {0}));
  configure(AdmissionMode::Guarantee);
  EXPECT_FALSE(starts(shared(1, 1_MiB), {0}));
  EXPECT_EQ(rig_.gpu(0).charged, 60_GiB);
}

TEST_F(Memory, TheGuardBandChangesFromTheNextStartOn) {
  rig_.run(shared(1, 12_GiB), {0});
  Settings settings;
  settings.admission.guard_floor = 2_GiB;
  configure(settings);
  EXPECT_FALSE(starts(shared(1, 11_GiB), {0}));
  settings.admission.guard_floor = Bytes(0);
  settings.admission.guard_ppm = 0;
  configure(settings);
  EXPECT_TRUE(starts(shared(1, 12_GiB), {0}));
}

TEST_F(Memory, SettingsThatMakeNoSenseAreIgnored) {
  Settings settings;
  settings.service_half_life = Duration::zero();
  configure(settings);
  settings = {.admission = {.guard_floor = Bytes(-1)}};
  configure(settings);
  settings = {.admission = {.guard_ppm = 1'000'001}};
  configure(settings);
  EXPECT_EQ(rig_.engine().view().settings(), Settings{});
}

// ---- Limits of users -------------------------------------------------------------------------

TEST_F(Memory, AUserHoldsNoMoreJobsThanTheLimit) {
  configure(Settings{.limits = {.jobs = 1}});
  const JobId id = rig_.run(shared(1, 1_GiB), {0});
  EXPECT_FALSE(starts(shared(1, 1_GiB), {1}));
  JobSpec other = shared(1, 1_GiB);
  other.user = UserId(8);
  EXPECT_TRUE(starts(other, {1}));
  rig_.exited(id);
  EXPECT_FALSE(starts(shared(1, 1_GiB), {1}));  // its berth is not released yet
  rig_.released(id);
  EXPECT_TRUE(starts(shared(1, 1_GiB), {1}));
}

TEST_F(Memory, AUserHoldsNoMoreGpusThanTheLimit) {
  configure(Settings{.limits = {.gpus = 3_gpus}});
  rig_.run(shared(2, 1_GiB), {0, 1});
  EXPECT_FALSE(starts(shared(2, 1_GiB), {2, 3}));
  EXPECT_TRUE(starts(shared(1, 1_GiB), {2}));
  EXPECT_TRUE(starts(shared(0, Bytes(0)), {}));
}

TEST_F(Memory, ALowerLimitTakesNothingAway) {
  const JobId id = rig_.run(shared(2, 1_GiB), {0, 1});
  configure(Settings{.limits = {.gpus = 1_gpus}});
  EXPECT_EQ(rig_.state(id), JobState::Running);
  EXPECT_FALSE(starts(shared(1, 1_GiB), {2}));
}

// ---- Jobs without GPUs and gangs -------------------------------------------------------------

TEST_F(Memory, AJobWithoutGpusTakesCoresAndMemoryOnly) {
  JobSpec spec = shared(0, Bytes(0));
  spec.request.cpu = CpuMilli(6000);
  spec.request.host = 10_GiB;
  ASSERT_TRUE(starts(spec, {}));
  EXPECT_EQ(rig_.engine().view().use().node(NodeId(0)).cpu, CpuMilli(6000));
  EXPECT_EQ(rig_.engine().view().use().node(NodeId(0)).host, 10_GiB);
  EXPECT_FALSE(starts(spec, {}));
}

TEST_F(Memory, AGangSpreadsItsHostPartOverItsNodes) {
  JobSpec spec = shared(3, 4_GiB);
  spec.request.cpu = CpuMilli(6000);
  ASSERT_TRUE(starts(spec, {1, 2, 3}));
  EXPECT_EQ(rig_.engine().view().use().node(NodeId(0)).cpu, CpuMilli(2000));
  EXPECT_EQ(rig_.engine().view().use().node(NodeId(1)).cpu, CpuMilli(4000));
}

TEST_F(Memory, AGangStartsWholeOrNotAtAll) {
  rig_.run(shared(1, 22_GiB), {2});
  EXPECT_FALSE(starts(shared(4, 4_GiB), {0, 1, 2, 3}));
  for (const std::uint32_t gpu : {0U, 1U, 3U}) EXPECT_EQ(rig_.gpu(gpu), GpuUse{});
}

TEST_F(Memory, AGangIsReleasedWhole) {
  const JobId id = rig_.run(shared(4, 4_GiB), {0, 1, 2, 3});
  rig_.exited(id);
  rig_.released(id);
  for (const std::uint32_t gpu : {0U, 1U, 2U, 3U}) EXPECT_EQ(rig_.gpu(gpu), GpuUse{});
}

}  // namespace
}  // namespace berth::test
