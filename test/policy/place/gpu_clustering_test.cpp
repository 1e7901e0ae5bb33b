// Goal: the four ranges of Weng et al.'s GpuClustering, and the order within each; what it learns
// from events is what it learns from the jobs.
// Method: their rules by hand on nodes of 8 GPUs; a placer that follows, beside fresh ones.
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

TEST(GpuClustering, LearnsFromEventsWhatTheJobsSay) {
  Scene scene(test::largest_nodes(6));
  const auto placer = (*std::ranges::find(placers(), "gpu-clustering", &PlacerEntry::name)).make();
  placer->prepare(scene.view(), {});
  Rng rng(7);
  for (int i = 0; i < 30; ++i) {
    const JobSpec spec = gang(rng.between(1, 3), 0);
    const auto placed = placer->place({.request = spec.request}, JobId(1), scene.view().trial());
    const Placed fresh = place_on(scene, "gpu-clustering", spec);
    ASSERT_EQ(placed.has_value(), fresh.has_value());
    if (!placed) continue;
    ASSERT_EQ(*placed, *fresh) << "job " << i;
    const JobId id = scene.run_at(spec, *placed);
    placer->prepare(scene.view(), std::vector<Event>{{EventKind::Granted, id}});
  }
}

}  // namespace
}  // namespace berth
