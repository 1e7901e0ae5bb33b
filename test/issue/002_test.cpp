// Measured figures are rounded up to 64 MiB, so a job within its charge could look as if it were a
// little over it; when another's use put the GPU under pressure, that job was ended for it.
#include <gtest/gtest.h>

#include "engine/rig.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;

constexpr GpuId kGpu{0};

/// Two tenants of 10,000 MiB, the first measured with `used`, and a stranger who takes the rest.
const Effects& press(Rig& rig, Bytes used) {
  rig.tell(
      {Submitted{JobId(1), shared(1, 10'000_MiB)}, Submitted{JobId(2), shared(1, 10'000_MiB)}});
  const Cluster& cluster = rig.engine().view().cluster();
  rig.decide({Start{.job = JobId(1), .placement = on(cluster, {0})},
              Start{.job = JobId(2), .placement = on(cluster, {0})}});
  return rig.tell(
      {Measured{.gpu = kGpu, .foreign = 8_GiB, .used = 24_GiB, .tenants = {{JobId(1), used}}}});
}

TEST(Issue002, ARoundedFigureIsNoOverrun) {
  Rig rig(nodes_of(1, 1));
  EXPECT_TRUE(press(rig, 10'048_MiB).list.empty());  // 157 steps; 10,000 MiB are 156.25
}

TEST(Issue002, AWholeStepIsOne) {
  Rig rig(nodes_of(1, 1));
  const Stop* const stop = only<Stop>(press(rig, 10'064_MiB));
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->job, JobId(1));
  EXPECT_EQ(stop->why, StopFor::Overrun);
}

}  // namespace
}  // namespace berth::test
