// Goal: a probe tells little, and never less memory than there is in use.
// Method: figures by hand. test/gpu/probe_test has samples of a driver under the same rules.
#include "core/steady.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

using namespace literals;

constexpr Bytes kCapacity = 16_GiB;

Measured seen(Bytes used, std::int16_t percent = kUnknownUtilisation) {
  return {.gpu = GpuId(0),
          .used = used,
          .tenants = {{.job = JobId(1), .bytes = used}},
          .utilisation = percent};
}

TEST(Steady, MemoryIsRoundedUpAndStandsWhileItIsAStepTooHighAtMost) {
  const auto first = steadied(seen(100_MiB), nullptr, kCapacity);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->used, 128_MiB);
  EXPECT_EQ(first->tenants.at(0).bytes, 128_MiB);
  EXPECT_FALSE(steadied(seen(128_MiB), &*first, kCapacity).has_value());
  EXPECT_FALSE(steadied(seen(60_MiB), &*first, kCapacity).has_value());
  EXPECT_EQ(steadied(seen(129_MiB), &*first, kCapacity)->used, 192_MiB);
  EXPECT_EQ(steadied(seen(Bytes(0)), &*first, kCapacity)->used, Bytes(0));
  EXPECT_EQ(steadied(seen(kCapacity - 1_MiB), &*first, kCapacity - 1_MiB)->used, kCapacity - 1_MiB);
}

TEST(Steady, AUtilisationStandsWhileItIsAStepOffAtMost) {
  const auto first = steadied(seen(1_GiB, 40), nullptr, kCapacity);
  EXPECT_EQ(first->utilisation, 50);
  EXPECT_FALSE(steadied(seen(1_GiB, 75), &*first, kCapacity).has_value());
  EXPECT_FALSE(steadied(seen(1_GiB, 25), &*first, kCapacity).has_value());
  EXPECT_EQ(steadied(seen(1_GiB, 76), &*first, kCapacity)->utilisation, 75);
  EXPECT_EQ(steadied(seen(1_GiB), &*first, kCapacity)->utilisation, kUnknownUtilisation);
}

TEST(Steady, ATenantThatIsNewOrGoneIsTold) {
  const auto first = steadied(seen(1_GiB), nullptr, kCapacity);
  Measured other = seen(1_GiB);
  other.tenants[0].job = JobId(2);
  EXPECT_EQ(steadied(other, &*first, kCapacity)->tenants.at(0).job, JobId(2));
  other.tenants.clear();
  EXPECT_TRUE(steadied(other, &*first, kCapacity)->tenants.empty());
}

}  // namespace
}  // namespace berth
