// Goal: worst fit spreads.
// Method: jobs of one size fill a cluster in rounds; after k rounds every GPU has k tenants.
#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {
namespace {

TEST(WorstFit, GivesEveryGpuATenantBeforeAnyGetsAnother) {
  const Cluster cluster = test::uniform(3, 4);
  Scratch scratch{Occupancy(cluster, {}), {}};
  const auto placer = (*std::ranges::find(placers(), "worst-fit", &PlacerEntry::name)).make();
  Ask ask;
  ask.request.gpu = {.count = GpuCount(2), .vram = Bytes(4LL << 30)};
  for (std::uint16_t round = 1; round <= 3; ++round) {
    for (int job = 0; job < 6; ++job) {
      Trial trial(cluster, scratch);
      const auto placed = placer->place(ask, JobId(1), trial);
      ASSERT_TRUE(placed);
      const Grant grant = trial.put(ask, *placed);
      trial.rollback(0);
      scratch.use.put(cluster, grant);
    }
    for (std::uint32_t g = 0; g < 12; ++g) {
      EXPECT_EQ(scratch.use.gpu(GpuId(g)).tenants, round) << "GPU " << g;
    }
  }
}

}  // namespace
}  // namespace berth
