// Goal: the scores of Weng et al.'s BestFit, whole numbers and ties included.
// Method: their formula by hand on nodes of 128 cores and 8 GPUs.
#include <gtest/gtest.h>

#include "policy/place/place_on.hpp"

namespace berth {
namespace {

using test::gang;
using test::part;
using test::place_on;
using test::Scene;

TEST(BestFitCpuGpu, LeavesTheLeastOfBothTogether) {
  Scene scene(test::largest_nodes(2));
  scene.run(gang(1, 1'000), {0});   // n0 leaves 0.92 of its cores and 0.75 of its GPUs: 16 points
  scene.run(gang(1, 40'000), {8});  // n1 leaves 0.61 and 0.75: 31 points
  EXPECT_EQ(place_on(scene, "best-fit-cpu-gpu", gang(1, 8'000))->host, NodeId(1));
}

TEST(BestFitCpuGpu, TakesTheFirstOfNodesWithinOnePoint) {
  Scene scene(test::largest_nodes(2));
  scene.run(gang(1, 10'000), {0});  // 10.82 points with the job
  scene.run(gang(1, 10'100), {8});  // 10.86: the same whole number
  EXPECT_EQ(place_on(scene, "best-fit-cpu-gpu", part(100, 100))->host, NodeId(0));
}

}  // namespace
}  // namespace berth
