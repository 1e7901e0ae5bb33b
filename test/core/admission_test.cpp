// Goal: the inequality F + S + c + G <= C decides, to the byte, and nothing else slips past it.
// Method: each term pushed over the edge by one byte; then every mode's own rule.
#include "core/admission.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace berth {
namespace {

using namespace literals;

constexpr GpuSpec kGpu{.slots = 4, .capacity = 24_GiB};

constexpr Ask ask_for(Bytes vram) {
  Ask ask;
  ask.request.gpu.count = 1_gpus;
  ask.request.gpu.vram = vram;
  return ask;
}

constexpr Ask whole() {
  Ask ask = ask_for(Bytes(0));
  ask.request.gpu.sharing = Sharing::Alone;
  return ask;
}

TEST(GuardBand, IsTheLargerOfFloorAndShare) {
  const Admission admission;
  EXPECT_EQ(guard_band(admission, kGpu), 512_MiB);  // 2 % of 24 GiB is 491.52 MiB
  GpuSpec large = kGpu;
  large.capacity = 80_GiB;
  EXPECT_EQ(guard_band(admission, large), Bytes(80_GiB / Bytes(1) / 50));
  GpuSpec vast = kGpu;
  vast.capacity = Bytes(std::int64_t{1} << 61);  // the share must not overflow
  EXPECT_EQ(guard_band({.guard_ppm = 1'000'000}, vast), vast.capacity);
}

TEST(Accepts, ATypeAndASetOfGpusAreBothRespected) {
  GpuSpec gpu = kGpu;
  gpu.type = 1;
  gpu.self = set_of(GpuId(2));
  Ask ask = ask_for(1_GiB);
  for (const auto& [types, only, taken] : {std::tuple(0U, 0U, true),
                                           {2U, 0U, true},
                                           {1U, 0U, false},
                                           {0U, 0b100U, true},
                                           {0U, 0b1011U, false},
                                           {2U, 0b110U, true},
                                           {1U, 0b100U, false}}) {
    ask.request.gpu.types = types;
    ask.request.gpu.only = only;
    for (const auto mode : {AdmissionMode::Guarantee, AdmissionMode::None}) {
      EXPECT_EQ(admits({.mode = mode}, gpu, {}, ask), taken) << types << " " << only;
    }
  }
}

TEST(Accepts, GpusBeyondASetAreTakenByJobsThatNameNone) {
  EXPECT_EQ(set_of(GpuId(63)), GpuSet{1} << 63);
  EXPECT_EQ(set_of(GpuId(64)), GpuSet{0});
  EXPECT_EQ(gpus_in(0b1010), (std::vector{GpuId(1), GpuId(3)}));
  Ask ask = ask_for(1_GiB);
  EXPECT_TRUE(admits({}, kGpu, {}, ask));
  ask.request.gpu.only = ~GpuSet{0};
  EXPECT_FALSE(admits({}, kGpu, {}, ask));
}

TEST(Guarantee, TheFirstTenantMayFillTheGpu) {
  EXPECT_TRUE(admits({}, kGpu, {}, ask_for(24_GiB)));
  EXPECT_FALSE(admits({}, kGpu, {}, ask_for(24_GiB + Bytes(1))));
}

TEST(Guarantee, TheSecondLeavesTheGuardBand) {
  const GpuUse use{.charged = 10_GiB, .tenants = 1};
  const Bytes room = 24_GiB - 10_GiB - 512_MiB;
  EXPECT_TRUE(admits({}, kGpu, use, ask_for(room)));
  EXPECT_FALSE(admits({}, kGpu, use, ask_for(room + Bytes(1))));
}

TEST(Guarantee, ForeignUseCounts) {
  const GpuUse use{.foreign = 4_GiB};
  EXPECT_TRUE(admits({}, kGpu, use, ask_for(20_GiB)));
  EXPECT_FALSE(admits({}, kGpu, use, ask_for(20_GiB + Bytes(1))));
}

TEST(Guarantee, ChargesCountWhateverIsMeasured) {
  const GpuUse idle{.charged = 20_GiB, .used = 0_GiB, .tenants = 1};
  EXPECT_FALSE(admits({}, kGpu, idle, ask_for(4_GiB)));
}

TEST(Guarantee, EveryProcessPaysItsContext) {
  GpuSpec gpu = kGpu;
  gpu.context = 500_MiB;
  Ask ask = ask_for(23_GiB);
  EXPECT_EQ(charge_on(ask, gpu), 23_GiB + 500_MiB);
  EXPECT_TRUE(admits({}, gpu, {}, ask));
  ask.request.gpu.processes = 3;
  EXPECT_EQ(charge_on(ask, gpu), 23_GiB + 1500_MiB);
  EXPECT_FALSE(admits({}, gpu, {}, ask));
}

TEST(Guarantee, AWholeGpuMustBeVacant) {
  EXPECT_TRUE(admits({}, kGpu, {}, whole()));
  EXPECT_FALSE(admits({}, kGpu, {.tenants = 1}, whole()));
  EXPECT_TRUE(admits({}, kGpu, {.foreign = 512_MiB}, whole()));  // a display, not a job
  EXPECT_FALSE(admits({}, kGpu, {.foreign = 512_MiB + Bytes(1)}, whole()));
}

TEST(Guarantee, AWholeGpuIsChargedWhatIsThere) {
  EXPECT_EQ(charge_of(whole(), kGpu, {.foreign = 1_GiB}), 23_GiB);
  EXPECT_EQ(charge_of(whole(), kGpu, {.foreign = 30_GiB}), 0_GiB);
  EXPECT_EQ(charge_of(ask_for(3_GiB), kGpu, {.foreign = 1_GiB}), 3_GiB);
}

TEST(Guarantee, AJobAloneStaysAlone) {
  EXPECT_FALSE(admits({}, kGpu, {.charged = 1_GiB, .tenants = 1, .alone = true}, ask_for(1_GiB)));
  Ask alone = ask_for(1_GiB);
  alone.request.gpu.sharing = Sharing::Alone;
  EXPECT_TRUE(admits({}, kGpu, {}, alone));
  EXPECT_FALSE(admits({}, kGpu, {.charged = 1_GiB, .tenants = 1}, alone));
}

TEST(Tenancy, SlotsAndSharesAreBounds) {
  EXPECT_TRUE(admits({}, kGpu, {.tenants = 3}, ask_for(1_GiB)));
  EXPECT_FALSE(admits({}, kGpu, {.tenants = 4}, ask_for(1_GiB)));
  Ask half = ask_for(1_GiB);
  half.request.gpu.milli = GpuMilli(500);
  EXPECT_TRUE(admits({}, kGpu, {.milli = GpuMilli(500), .tenants = 1}, half));
  EXPECT_FALSE(admits({}, kGpu, {.milli = GpuMilli(501), .tenants = 1}, half));
}

TEST(Admits, OnlyHealthyGpusOfAWantedType) {
  EXPECT_FALSE(admits({}, kGpu, {.healthy = false}, ask_for(1_GiB)));
  EXPECT_FALSE(admits({}, kGpu, {.healthy = false}, whole()));
  Ask typed = ask_for(1_GiB);
  typed.request.gpu.types = 0b10;
  EXPECT_FALSE(admits({}, kGpu, {}, typed));
  GpuSpec second = kGpu;
  second.type = 1;
  EXPECT_TRUE(admits({}, second, {}, typed));
}

TEST(Admits, HealthBindsInEveryMode) {
  for (const auto mode : {AdmissionMode::Guarantee, AdmissionMode::Declared,
                          AdmissionMode::FreeMemory, AdmissionMode::None}) {
    EXPECT_FALSE(admits({.mode = mode}, kGpu, {.healthy = false}, ask_for(1_GiB)));
  }
}

TEST(Declared, IgnoresForeignUseAndGuard) {
  const Admission declared{.mode = AdmissionMode::Declared};
  const GpuUse use{.charged = 12_GiB, .foreign = 20_GiB, .tenants = 1};
  EXPECT_TRUE(admits(declared, kGpu, use, ask_for(12_GiB)));
  EXPECT_FALSE(admits(declared, kGpu, use, ask_for(12_GiB + Bytes(1))));
}

TEST(FreeMemory, LooksAtTheMomentOnly) {
  const Admission polling{.mode = AdmissionMode::FreeMemory};
  const GpuUse ramping{.charged = 24_GiB, .used = 1_GiB, .tenants = 1};
  EXPECT_TRUE(admits(polling, kGpu, ramping, ask_for(23_GiB)));  // what polling tools get wrong
  EXPECT_FALSE(admits(polling, kGpu, ramping, ask_for(23_GiB + Bytes(1))));
}

TEST(Home, IsAllThatAnAskWithOneTakes) {
  GpuSpec gpu = kGpu;
  Ask ask = ask_for(1_GiB);
  ask.home = std::vector{NodeId(0), NodeId(0), NodeId(2)};
  for (const auto mode : {AdmissionMode::Guarantee, AdmissionMode::None}) {
    for (const std::uint32_t node : {0U, 1U, 2U}) {
      gpu.node = NodeId(node);
      EXPECT_EQ(admits({.mode = mode}, gpu, {}, ask), node != 1) << node;
    }
  }
  EXPECT_TRUE(may_be_on(NodeId(0), ask, 2));
  EXPECT_FALSE(may_be_on(NodeId(0), ask, 3)) << "more than it had there";
  EXPECT_FALSE(may_be_on(NodeId(1), ask, 0)) << "a job without GPUs has a node too";
  EXPECT_TRUE(may_be_on(NodeId(1), ask_for(1_GiB), 3));
}

TEST(None, TakesEveryone) {
  const Admission none{.mode = AdmissionMode::None};
  EXPECT_TRUE(admits(none, kGpu, {.charged = 24_GiB, .tenants = 9, .alone = true}, whole()));
}

// All of it is a constant expression: it depends on its arguments and on nothing else.
static_assert(admits({}, kGpu, {}, ask_for(24_GiB)));

}  // namespace
}  // namespace berth
