// Goal: from samples to inputs: foreign use is never invented, never missed where it can be known,
// and never told twice.
// Method: samples made by hand or handed out by the fake port.
#include "gpu/probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/base/rng.hpp"
#include "fake/gpu_port.hpp"

namespace berth {
namespace {

using namespace literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Bytes kTotal = 24_GiB;
constexpr Bytes kReserved = 512_MiB;

Instant at(std::int64_t second) { return kStart + seconds(second); }

/// pid 10n to 10n + 9 are job n's, from 900 on they are not there, the others are strangers'.
Owner owner_of(pid_t pid) {
  if (pid >= 900) return OfNobody{};
  if (pid >= 100) return OfStranger{};
  return OfJob{JobId(static_cast<std::uint64_t>(pid) / 10)};
}

Sample sample_of(Bytes used, std::vector<GpuProcess> processes) {
  return {.total = kTotal, .reserved = kReserved, .used = used, .processes = std::move(processes)};
}

Measured measured_of(const Sample& sample, const Measured* previous = nullptr) {
  const auto measured =
      measure({.gpu = GpuId(3), .sample = sample, .tenants = 1, .previous = previous}, owner_of);
  if (!measured) ADD_FAILURE() << "nothing measured";
  return measured.value_or(Measured{});
}

bool is_news(const Sample& sample, const Measured& previous) {
  return measure({.gpu = GpuId(3), .sample = sample, .tenants = 1, .previous = &previous}, owner_of)
      .has_value();
}

// ---- Who holds what ----------------------------------------------------------------------------

TEST(Measure, AnIdleGpu) {
  const Measured measured = measured_of(sample_of(0_MiB, {}));
  EXPECT_EQ(measured.gpu, GpuId(3));
  EXPECT_EQ(measured.foreign, 0_MiB);
  EXPECT_EQ(measured.used, 0_MiB);
  EXPECT_THAT(measured.tenants, IsEmpty());
}

TEST(Measure, ProcessesOfAJobAddAndJobsAscend) {
  const Measured measured =
      measured_of(sample_of(10_GiB, {{20, 4_GiB}, {10, 1_GiB}, {11, 2_GiB}, {100, 3_GiB}}));
  ASSERT_THAT(measured.tenants, SizeIs(2));
  EXPECT_EQ(measured.tenants[0].job, JobId(1));
  EXPECT_EQ(measured.tenants[0].bytes, 3_GiB);
  EXPECT_EQ(measured.tenants[1].job, JobId(2));
  EXPECT_EQ(measured.tenants[1].bytes, 4_GiB);
  EXPECT_EQ(measured.foreign, 3_GiB);
  EXPECT_EQ(measured.used, 10_GiB);
}

TEST(Measure, MemoryThatNobodyOwnsIsForeign) {
  EXPECT_EQ(measured_of(sample_of(5_GiB, {{10, 4_GiB}})).foreign, 1_GiB);
  EXPECT_EQ(measured_of(sample_of(4_MiB, {})).foreign, 64_MiB);  // what an idle driver holds
}

TEST(Measure, ProcessesThatHoldMoreThanIsUsedAreNoCredit) {
  EXPECT_EQ(measured_of(sample_of(3_GiB, {{10, 4_GiB}, {100, 1_GiB}})).foreign, 1_GiB);
}

TEST(Measure, AProcessThatIsNotThereIsForeignUntilTheNextSample) {
  const Sample sample = sample_of(2_GiB, {{10, 1_GiB}, {901, 1_GiB}});
  EXPECT_EQ(measured_of(sample).foreign, 1_GiB);
  EXPECT_TRUE(lists_vanished(sample, owner_of));
  EXPECT_FALSE(lists_vanished(sample_of(1_GiB, {{10, 1_GiB}, {100, 1_GiB}}), owner_of));
}

// ---- Figures that are not known ----------------------------------------------------------------

TEST(Measure, AStrangerOfUnknownSizeHoldsWhatIsLeft) {
  const Measured measured = measured_of(sample_of(7_GiB, {{10, 4_GiB}, {100, std::nullopt}}));
  EXPECT_EQ(measured.foreign, 3_GiB);
}

TEST(Measure, ATenantOfUnknownSizeIsNotCountedTwice) {
  const Measured first = measured_of(sample_of(1_GiB, {{100, 1_GiB}}));
  const Measured then =
      measured_of(sample_of(9_GiB, {{100, 1_GiB}, {10, std::nullopt}, {20, 3_GiB}}), &first);
  EXPECT_EQ(then.foreign, 1_GiB);  // the other 5 GiB may be job 1's: its charge covers them
  EXPECT_EQ(then.used, 9_GiB);
  ASSERT_THAT(then.tenants, SizeIs(1));
  EXPECT_EQ(then.tenants[0].job, JobId(2));
}

TEST(Measure, AStrangerBesideATenantOfUnknownSizeIsSeenToGrowButNotToShrink) {
  const Measured first = measured_of(sample_of(2_GiB, {{100, 2_GiB}}));
  const Measured grown = measured_of(sample_of(6_GiB, {{100, 3_GiB}, {10, std::nullopt}}), &first);
  EXPECT_EQ(grown.foreign, 3_GiB);
  const Measured shrunk = measured_of(sample_of(5_GiB, {{100, 1_GiB}, {10, std::nullopt}}), &grown);
  EXPECT_EQ(shrunk.foreign, 3_GiB);
}

TEST(Measure, OneUnknownProcessMakesItsJobUnknown) {
  const Measured measured = measured_of(sample_of(9_GiB, {{10, 4_GiB}, {11, std::nullopt}}));
  EXPECT_THAT(measured.tenants, IsEmpty());
  EXPECT_EQ(measured.foreign, 0_MiB);
}

TEST(Measure, WithoutAListUseIsForeignOnlyWhereThereAreNoTenants) {
  const Sample sample{.total = kTotal, .reserved = kReserved, .used = 2_GiB};
  const auto alone = measure({.gpu = GpuId(0), .sample = sample}, owner_of);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->foreign, 2_GiB);
  const Sample later{.total = kTotal, .reserved = kReserved, .used = 12_GiB};
  const auto shared =
      measure({.gpu = GpuId(0), .sample = later, .tenants = 1, .previous = &*alone}, owner_of);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->foreign, 2_GiB);
  EXPECT_EQ(shared->used, 12_GiB);
}

// ---- Samples that are too old ------------------------------------------------------------------

TEST(Measure, ASampleFromBeforeAnEndCountsNothingAsForeign) {
  const Measured before = measured_of(sample_of(1_GiB, {{100, 1_GiB}}));
  // The job of pid 300 has ended: its pid has no owner, its memory is still in the sample.
  const Sample sample = sample_of(6_GiB, {{100, 1_GiB}, {300, 5_GiB}});
  const auto judge = [&](Instant began) {
    return measure(
        {.gpu = GpuId(3), .sample = sample, .began = began, .changed = at(10), .previous = &before},
        owner_of);
  };
  for (const Instant began : {at(9), at(10)}) {  // the same instant: it is unknown which was first
    const auto stale = judge(began);
    ASSERT_TRUE(stale);
    EXPECT_EQ(stale->foreign, 1_GiB);
    EXPECT_EQ(stale->used, 6_GiB);
  }
  const auto fresh = judge(at(11));
  ASSERT_TRUE(fresh);
  EXPECT_EQ(fresh->foreign, 6_GiB);
}

TEST(Measure, AStaleFirstSampleSaysNothing) {
  const Sample sample = sample_of(6_GiB, {{100, 6_GiB}});
  EXPECT_FALSE(
      measure({.gpu = GpuId(0), .sample = sample, .began = at(1), .changed = at(2)}, owner_of));
}

TEST(MustSample, WhenThereIsNoneOrItIsOldOrSomethingHappened) {
  EXPECT_TRUE(must_sample({}, at(100), seconds(1)));
  EXPECT_FALSE(must_sample({.began = at(99)}, at(100), seconds(1)));
  EXPECT_TRUE(must_sample({.began = at(98)}, at(100), seconds(1)));
  EXPECT_FALSE(must_sample({.began = at(99), .changed = at(98)}, at(100), seconds(1)));
  EXPECT_TRUE(must_sample({.began = at(99), .changed = at(99)}, at(100), seconds(1)));
  EXPECT_TRUE(must_sample({.began = at(99), .changed = at(100)}, at(100), seconds(1)));
}

// ---- Steps -------------------------------------------------------------------------------------

TEST(Steps, AreRoundedUp) {
  const Bytes byte(1);
  EXPECT_EQ(measured_of(sample_of(byte, {})).foreign, 64_MiB);
  EXPECT_EQ(measured_of(sample_of(64_MiB, {})).foreign, 64_MiB);
  EXPECT_EQ(measured_of(sample_of(64_MiB + byte, {})).foreign, 128_MiB);
  EXPECT_EQ(measured_of(sample_of(65_MiB, {{10, 65_MiB}})).tenants[0].bytes, 128_MiB);
}

TEST(Steps, EndWithTheGpu) {
  const Bytes capacity = kTotal - kReserved - 1_MiB;
  Sample sample = sample_of(capacity, {{10, capacity}});
  sample.reserved += 1_MiB;
  const Measured measured = measured_of(sample);
  EXPECT_EQ(measured.tenants[0].bytes, capacity);
  EXPECT_EQ(measured.used, capacity);
}

TEST(Steps, SmallChangesAreNoNews) {
  const Measured first = measured_of(sample_of(1000_MiB, {{10, 1000_MiB}}));
  EXPECT_EQ(first.used, 1024_MiB);
  for (const Bytes used : {1000_MiB, 1024_MiB, 961_MiB, 960_MiB, 897_MiB}) {
    EXPECT_FALSE(is_news(sample_of(used, {{10, used}}), first)) << used.raw();
  }
  EXPECT_TRUE(is_news(sample_of(1025_MiB, {{10, 1025_MiB}}), first));
  EXPECT_TRUE(is_news(sample_of(896_MiB, {{10, 896_MiB}}), first));
}

TEST(Steps, NothingLeftIsNews) {
  const Measured first = measured_of(sample_of(10_MiB, {{100, 10_MiB}}));
  EXPECT_EQ(first.foreign, 64_MiB);
  EXPECT_EQ(measured_of(sample_of(0_MiB, {}), &first).foreign, 0_MiB);
}

TEST(Steps, ATenantThatCameOrWentIsNews) {
  const Measured first = measured_of(sample_of(64_MiB, {{10, 64_MiB}}));
  EXPECT_TRUE(is_news(sample_of(64_MiB, {{20, 64_MiB}}), first));
  EXPECT_TRUE(is_news(sample_of(64_MiB, {{10, 32_MiB}, {20, 32_MiB}}), first));
}

/// Whatever the walk, what the engine was told covers what was measured, by at most two steps.
TEST(Steps, AlwaysCoverTheFigureAndNotMuchMore) {
  Rng rng(7);
  Bytes held = 1_GiB;
  std::optional<Measured> told;
  int inputs = 0;
  constexpr int kSamples = 20'000;
  for (int i = 0; i < kSamples; ++i) {
    held += Bytes(rng.between(-(10 << 20), 10 << 20));
    held = std::clamp(held, 1_MiB, kTotal - kReserved);
    const Sample sample = sample_of(held, {{100, held}});
    const auto news =
        measure({.gpu = GpuId(0), .sample = sample, .previous = told ? &*told : nullptr}, owner_of);
    if (news) told = news;
    inputs += news ? 1 : 0;
    ASSERT_GE(told->foreign, held);
    ASSERT_LE(told->foreign - held, 2 * kProbeStep);
    ASSERT_EQ(told->foreign, told->used);
  }
  EXPECT_LT(inputs, kSamples / 10);
}

// ---- How busy ----------------------------------------------------------------------------------

Sample busy_sample(std::optional<std::uint32_t> percent) {
  Sample sample = sample_of(1_GiB, {{100, 1_GiB}});
  sample.utilisation_percent = percent;
  return sample;
}

TEST(Busy, IsToldInStepsOfAQuarter) {
  for (const auto& [percent, told] :
       {std::pair(0, 0), {12, 0}, {13, 25}, {40, 50}, {74, 75}, {88, 100}, {100, 100}}) {
    EXPECT_EQ(measured_of(busy_sample(static_cast<std::uint32_t>(percent))).utilisation, told);
  }
}

TEST(Busy, UnknownStaysUnknown) {
  const Measured first = measured_of(busy_sample(std::nullopt));
  EXPECT_EQ(first.utilisation, kUnknownUtilisation);
  EXPECT_FALSE(is_news(busy_sample(std::nullopt), first));
  const Measured known = measured_of(busy_sample(90), &first);
  EXPECT_EQ(known.utilisation, 100);
  EXPECT_EQ(measured_of(busy_sample(std::nullopt), &known).utilisation, kUnknownUtilisation);
}

TEST(Busy, SmallChangesAreNoNews) {
  const Measured first = measured_of(busy_sample(70));
  EXPECT_EQ(first.utilisation, 75);
  for (const unsigned percent : {50U, 62U, 88U, 100U}) {
    EXPECT_FALSE(is_news(busy_sample(percent), first)) << percent;
  }
  EXPECT_EQ(measured_of(busy_sample(49), &first).utilisation, 50);
  EXPECT_EQ(measured_of(busy_sample(0), &first).utilisation, 0);
}

// ---- The rest ----------------------------------------------------------------------------------

TEST(HeldBy, IsNothingOnceNoProcessIsListed) {
  const Sample sample = sample_of(4_GiB, {{10, 1_GiB}, {11, 2_GiB}, {20, std::nullopt}});
  EXPECT_EQ(held_by(JobId(1), sample, owner_of), 3_GiB);
  EXPECT_EQ(held_by(JobId(2), sample, owner_of), 0_MiB);  // there, of unknown size
  EXPECT_EQ(held_by(JobId(3), sample, owner_of), std::nullopt);
}

TEST(Xid, OfProgramsAndOfGpus) {
  for (const unsigned xid : {13U, 31U, 43U, 45U, 68U, 109U}) EXPECT_TRUE(is_application_xid(xid));
  for (const unsigned xid : {0U, 48U, 62U, 63U, 74U, 79U, 94U, 95U, 119U}) {
    EXPECT_FALSE(is_application_xid(xid));
  }
}

TEST(FakePort, ServesTheProbe) {
  test::FakeGpuPort gpus({kTotal, kTotal});
  gpus.hold(1, 100, 1_GiB);
  const auto sample = gpus.sample(1);
  ASSERT_TRUE(sample);
  EXPECT_EQ(measured_of(*sample).foreign, 1_GiB);
  gpus.report({.device = 1, .xid = 79});
  gpus.set(1, fail(ErrorCode::Io, "lost"));
  EXPECT_EQ((*gpus.wait_event(seconds(1)))->xid, 79U);
  EXPECT_FALSE(*gpus.wait_event(seconds(1)));
  EXPECT_FALSE(gpus.sample(1));
  EXPECT_FALSE(gpus.sample(2));
}

}  // namespace
}  // namespace berth
