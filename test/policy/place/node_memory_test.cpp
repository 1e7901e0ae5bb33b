// Goal: what is remembered of a node is computed again when its books change, and only then.
// Method: calls are counted.
#include "policy/place/node_memory.hpp"

#include <gtest/gtest.h>

#include "policy/scene.hpp"

namespace berth {
namespace {

TEST(NodeMemory, ComputesAgainWhatChangedAndNothingElse) {
  test::Scene scene(test::uniform(3, 2));
  NodeMemory<int, int> memory;
  const Request request = test::whole(1, kForever).request;
  std::vector<std::uint32_t> looked;
  std::vector<std::uint32_t> judged;
  const auto pass = [&] {
    looked.clear();
    judged.clear();
    const Trial trial = scene.view().trial();
    if (!memory.is_of(trial)) memory.start(trial);
    memory.follow(trial, [&](NodeId node, int& fact) {
      looked.push_back(node.value());
      fact = static_cast<int>(trial.use().node(node).vacant);
    });
    auto scores = memory.scores(request);
    int sum = 0;
    for (std::uint32_t n = 0; n < 3; ++n) {
      sum += scores.of(NodeId(n), [&](NodeId node) {
        judged.push_back(node.value());
        return memory.facts(node);
      });
    }
    return sum;
  };
  using Nodes = std::vector<std::uint32_t>;
  EXPECT_EQ(pass(), 6);
  EXPECT_EQ(looked, (Nodes{0, 1, 2}));
  EXPECT_EQ(pass(), 6);
  EXPECT_EQ(looked, Nodes());
  EXPECT_EQ(judged, Nodes());
  scene.run(test::whole(1, kForever), {2});
  EXPECT_EQ(pass(), 5);
  EXPECT_EQ(looked, Nodes{1});
  EXPECT_EQ(judged, Nodes{1});
  memory.forget();
  EXPECT_EQ(pass(), 5);
  EXPECT_EQ(judged, (Nodes{0, 1, 2}));
}

}  // namespace
}  // namespace berth
