// Goal: the three ranges of Weng et al.'s GpuPacking, and the order within each.
// Method: their rules by hand on nodes of 8 GPUs.
#include <gtest/gtest.h>

#include "policy/place/place_on.hpp"

namespace berth {
namespace {

using test::gang;
using test::part;
using test::place_on;
using test::Scene;

TEST(GpuPacking, SharesTheFullestGpuThatHasRoom) {
  Scene scene(test::largest_nodes(3));
  scene.run(part(400, 0), {8});   // 60 % free: 94 points
  scene.run(part(700, 0), {17});  // 30 % free: 97
  EXPECT_EQ(place_on(scene, "gpu-packing", part(200, 0))->gpus, std::vector{GpuId(17)});
  EXPECT_EQ(place_on(scene, "gpu-packing", part(500, 0))->gpus, std::vector{GpuId(8)});
}

TEST(GpuPacking, TakesFreeGpusOfANodeInUseBeforeAFreeNode) {
  Scene scene(test::largest_nodes(3));
  scene.run(part(400, 0), {8});
  EXPECT_EQ(place_on(scene, "gpu-packing", part(700, 0))->host, NodeId(1));
  EXPECT_EQ(place_on(scene, "gpu-packing", gang(7, 0))->host, NodeId(1));
  EXPECT_EQ(place_on(scene, "gpu-packing", gang(8, 0))->host, NodeId(0));
}

}  // namespace
}  // namespace berth
