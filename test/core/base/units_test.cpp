// Goal: a wrong unit does not compile, and what compiles computes exactly.
// Method: concepts that ask whether an expression is valid; arithmetic at the edges.
#include "core/base/units.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <limits>

#include "core/base/ids.hpp"

namespace berth {
namespace {

using namespace literals;

template <class A, class B>
concept Adds = requires(A a, B b) { a + b; };
template <class A, class B>
concept Subtracts = requires(A a, B b) { a - b; };
template <class A, class B>
concept Multiplies = requires(A a, B b) { a* b; };
template <class A, class B>
concept Divides = requires(A a, B b) { a / b; };
template <class A, class B>
concept Compares = requires(A a, B b) { a < b; };
template <class A, class B>
concept Equates = requires(A a, B b) { a == b; };

// One unit adds, subtracts, compares; two of a kind divide to a plain number.
static_assert(Adds<Bytes, Bytes> && Subtracts<Bytes, Bytes> && Compares<Bytes, Bytes>);
static_assert(std::same_as<decltype(Bytes(1) / Bytes(1)), std::int64_t>);
static_assert(std::same_as<decltype(GpuCount(1) * seconds(1)), GpuTime>);

// Two units never meet, nor do a unit and a plain number, except to scale it.
static_assert(!Adds<Bytes, GpuCount> && !Subtracts<Bytes, GpuMilli> && !Compares<Bytes, CpuMilli>);
static_assert(!Equates<GpuCount, GpuMilli> && !Divides<GpuTime, GpuCount>);
static_assert(!Adds<Bytes, std::int64_t> && !Compares<Bytes, std::int64_t>);
static_assert(!Equates<GpuCount, int>);
static_assert(!Multiplies<Bytes, Bytes> && !Multiplies<Bytes, Duration>);
static_assert(Multiplies<Bytes, std::int64_t> && Multiplies<std::int64_t, Bytes>);

// Numbers become amounts only where it is said.
static_assert(!std::convertible_to<std::int64_t, Bytes>);
static_assert(!std::convertible_to<Bytes, std::int64_t>);
static_assert(std::constructible_from<Bytes, std::int64_t>);

// Names of different things never mix, and have no arithmetic.
static_assert(!Equates<JobId, NodeId> && !Compares<GpuId, NodeId>);
static_assert(!Adds<JobId, JobId> && !std::convertible_to<int, JobId>);
static_assert(Compares<JobId, JobId>);

// Instants and durations differ, too.
static_assert(Adds<Instant, Duration> && !Adds<Instant, Instant>);
static_assert(std::same_as<decltype(kStart - kStart), Duration>);

// What would not compile above is found by the concepts: they hold where it does.
static_assert(Multiplies<GpuCount, Duration> && !Multiplies<GpuMilli, Duration>);

TEST(Units, ComputeExactly) {
  EXPECT_EQ(1_GiB, 1024_MiB);
  EXPECT_EQ(3_GiB / 1_GiB, 3);
  EXPECT_EQ(5_GiB % 2_GiB, 1_GiB);
  EXPECT_EQ((4_gpus * seconds(10)).raw(), 40'000'000);
  Bytes sum = 1_MiB;
  sum += 2_MiB;
  sum -= 1_MiB;
  EXPECT_EQ(sum, 2_MiB);
  EXPECT_LT(Bytes(-1), Bytes(0));
}

TEST(CeilDiv, RoundsUpToTheMicrosecond) {
  EXPECT_EQ(ceil_div(GpuTime(0), 3_gpus), Duration(0));
  EXPECT_EQ(ceil_div(GpuTime(6), 3_gpus), Duration(2));
  EXPECT_EQ(ceil_div(GpuTime(7), 3_gpus), Duration(3));
  EXPECT_EQ(ceil_div(GpuTime(1), 1000_gpus), Duration(1));
  const GpuTime most(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(ceil_div(most, 1_gpus), Duration(most.raw()));
}

TEST(CeilDiv, IsTheFirstInstantAtWhichTheServiceIsAttained) {
  for (const std::int64_t gpus : {1LL, 2LL, 3LL, 7LL, 16LL}) {
    for (const std::int64_t service : {1LL, 2LL, 5LL, 11LL, 3'250'000'001LL}) {
      const Duration time = ceil_div(GpuTime(service), GpuCount(gpus));
      EXPECT_GE(GpuCount(gpus) * time, GpuTime(service));
      EXPECT_LT(GpuCount(gpus) * (time - Duration(1)), GpuTime(service));
    }
  }
}

}  // namespace
}  // namespace berth
