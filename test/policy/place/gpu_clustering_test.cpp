// Goal: the four ranges of Weng et al.'s GpuClustering, and the order within each.
// Method: their rules by hand on nodes of 8 GPUs.
#include <gtest/gtest.h>

#include "policy/place/place_on.hpp"

namespace berth {
namespace {

using test::gang;
using test::part;
using test::place_on;
using test::Scene;

TEST(GpuClustering, PrefersOwnThenMixedThenIdleThenOthers) {
  Scene scene(test::largest_nodes(4));
  scene.run(gang(2, 0), {0, 1});  // n0: pairs
  scene.run(gang(1, 0), {8});     // n1: singles
  scene.run(part(500, 0), {16});  // n2: singles and parts; n3 is idle
  scene.run(gang(1, 0), {17});
  EXPECT_EQ(place_on(scene, "gpu-clustering", gang(2, 0))->host, NodeId(0));
  EXPECT_EQ(place_on(scene, "gpu-clustering", gang(1, 0))->host, NodeId(1));
  EXPECT_EQ(place_on(scene, "gpu-clustering", part(500, 0))->host, NodeId(2));
  EXPECT_EQ(place_on(scene, "gpu-clustering", gang(4, 0))->host, NodeId(3));
}

}  // namespace
}  // namespace berth
