// Goal: the scores of Weng et al.'s DotProd: the least product of what is free and what is asked.
// Method: their formula by hand on nodes of 128 cores and 8 GPUs.
#include <gtest/gtest.h>

#include "policy/place/place_on.hpp"

namespace berth {
namespace {

using test::gang;
using test::place_on;
using test::Scene;

TEST(DotProd, FollowsTheDimensionThatIsAskedFor) {
  Scene scene(test::largest_nodes(2));
  scene.run(gang(4, 0), {0, 1, 2, 3});  // n0: all cores, half the GPUs
  scene.run(gang(1, 96'000), {8});      // n1: a quarter of the cores, seven GPUs
  // Four GPUs: n0 100 x (1 - 1/2 x 1/2 / 2) = 87, n1 100 x (1 - 7/8 x 1/2 / 2) = 78.
  EXPECT_EQ(place_on(scene, "dot-prod", gang(4, 0))->host, NodeId(0));
  // 32 cores: n0 100 x (1 - 1 x 1/4 / 2) = 87, n1 100 x (1 - 1/4 x 1/4 / 2) = 96.
  EXPECT_EQ(place_on(scene, "dot-prod", gang(0, 32'000))->host, NodeId(1));
}

}  // namespace
}  // namespace berth
