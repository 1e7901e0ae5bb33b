// Goal: a graph of 200 nodes with arrays runs each job once and in order however often berthd is
// killed. Method: daemon/dag.hpp, with three seeds.
#include <gtest/gtest.h>

#include "daemon/dag.hpp"

namespace berth {
namespace {

TEST(Dag, TwoHundredNodesRunOnceAndInOrderThroughKills) {
  for (std::uint64_t seed = 1; seed <= 3 && !testing::Test::HasFailure(); ++seed) {
    test::Rig rig;
    rig.start();
    test::run_dag(rig, {.nodes = 200, .kills = 30, .seed = seed});
  }
}

}  // namespace
}  // namespace berth
