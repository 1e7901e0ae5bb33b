// A waiting job that can never be placed, named by two events of one step, was rejected twice, and
// the second time counted as a policy's bug.
#include <gtest/gtest.h>

#include "engine/rig.hpp"
#include "policy/registry.hpp"

namespace berth::test {
namespace {

TEST(Issue004, AJobIsRejectedOnce) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "small", .gpus = 1, .vram = Bytes(1), .cpu = CpuMilli(1000)});
  cluster.add_node({.name = "large", .gpus = 1, .vram = Bytes(1), .cpu = CpuMilli(7000)});
  Engine engine(cluster, {}, *make_policy("fifo", "first-fit"));
  JobSpec spec = whole(2);
  spec.request.cpu = CpuMilli(8000);  // as many as there are, but half of them on each node
  engine.step(kStart, std::vector<Input>{Submitted{JobId(1), spec, true}});
  const Effects& effects = engine.step(
      kStart, std::vector<Input>{ReleaseAsked{JobId(1)}, Reported{JobId(1), "done", 1}});
  ASSERT_NE(only<Finished>(effects), nullptr);
  EXPECT_EQ(only<Finished>(effects)->outcome, Outcome::Rejected);
  EXPECT_EQ(engine.dropped(), 0U);
}

}  // namespace
}  // namespace berth::test
