// Goal: what is granted of the GPUs is counted once: by compute shares where they are stated, and
// apart from that by tenants.
// Method: tenants that come and go on two GPUs, worked out by hand.
#include "sim/usage.hpp"

#include <gtest/gtest.h>

#include <array>

namespace berth::sim {
namespace {

constexpr std::array kFirst = {GpuId(0)};
constexpr std::array kBoth = {GpuId(0), GpuId(1)};

Instant at(int second) { return kStart + seconds(second); }

GpuRequest part(std::int64_t milli) { return {.count = GpuCount(1), .milli = GpuMilli(milli)}; }

class UsageTest : public testing::Test {
 protected:
  Usage usage_{2, at(0), {at(0), at(10)}};
};

TEST_F(UsageTest, FourTenantsOfOneGpuAreOneGpu) {
  for (int i = 0; i < 4; ++i) usage_.begin(GpuRequest{.count = GpuCount(1)}, kFirst, at(0));
  const Use use = usage_.whole(at(20));
  EXPECT_DOUBLE_EQ(use.seconds, 20);
  EXPECT_DOUBLE_EQ(use.allocated, 20);
  EXPECT_DOUBLE_EQ(use.busy, 20);
  EXPECT_DOUBLE_EQ(use.tenancy, 80);
}

TEST_F(UsageTest, PartsAreParts) {
  usage_.begin(part(250), kFirst, at(0));
  usage_.begin(part(500), kFirst, at(4));
  usage_.end(part(250), kFirst, at(8));
  const Use use = usage_.whole(at(10));
  EXPECT_DOUBLE_EQ(use.allocated, 0.25 * 8 + 0.5 * 6);
  EXPECT_DOUBLE_EQ(use.busy, 10);
  EXPECT_DOUBLE_EQ(use.tenancy, 14);
}

TEST_F(UsageTest, PartsBeyondOneGpuAreOneGpu) {
  usage_.begin(part(700), kFirst, at(0));
  usage_.begin(part(700), kFirst, at(0));
  EXPECT_DOUBLE_EQ(usage_.whole(at(10)).allocated, 10);
}

TEST_F(UsageTest, APartThatNobodyMayShareIsAWholeGpu) {
  GpuRequest alone = part(250);
  alone.sharing = Sharing::Alone;
  usage_.begin(alone, kFirst, at(0));
  EXPECT_DOUBLE_EQ(usage_.whole(at(10)).allocated, 10);
}

TEST_F(UsageTest, OfArrivalsOnlyTheTimeInWhichJobsArrive) {
  const GpuRequest two{.count = GpuCount(2)};
  usage_.begin(two, kBoth, at(5));
  usage_.end(two, kBoth, at(30));
  EXPECT_DOUBLE_EQ(usage_.whole(at(40)).allocated, 50);
  const Use arriving = usage_.arriving(at(40));
  EXPECT_DOUBLE_EQ(arriving.seconds, 10);
  EXPECT_DOUBLE_EQ(arriving.allocated, 10);
}

}  // namespace
}  // namespace berth::sim
