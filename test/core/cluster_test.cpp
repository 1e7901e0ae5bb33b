// Goal: a range of ids is a place, and distances follow from it.
// Method: a small cluster with uneven nodes.
#include "core/cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using namespace literals;

Cluster uneven() {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "a", .gpus = 2, .vram = 10_GiB, .type = "small"});
  cluster.add_node({.name = "b", .gpus = 0});
  cluster.add_switch();
  cluster.add_node({.name = "c", .gpus = 3, .vram = 80_GiB, .type = "large", .slots = 7});
  cluster.add_node({.name = "d", .gpus = 1, .vram = 10_GiB, .type = "small"});
  return cluster;
}

TEST(Cluster, NumbersGpusNodeByNode) {
  const Cluster cluster = uneven();
  EXPECT_EQ(cluster.gpu_count(), 6_gpus);
  EXPECT_EQ(cluster.node(NodeId(0)).first_gpu, GpuId(0));
  EXPECT_EQ(cluster.node(NodeId(1)).first_gpu, cluster.node(NodeId(1)).end_gpu());
  EXPECT_EQ(cluster.node(NodeId(2)).first_gpu, GpuId(2));
  EXPECT_EQ(cluster.node(NodeId(2)).end_gpu(), GpuId(5));
  EXPECT_EQ(cluster.node_of(GpuId(4)), NodeId(2));
  EXPECT_EQ(cluster.node_of(GpuId(5)), NodeId(3));
}

TEST(Cluster, KnowsItsExtremes) {
  const Cluster cluster = uneven();
  EXPECT_EQ(cluster.largest_node(), 3U);
  EXPECT_EQ(cluster.largest_gpu(), 80_GiB);
  EXPECT_EQ(cluster.total_vram(), 270_GiB);
}

TEST(Cluster, GivesTypesOneBitEach) {
  const Cluster cluster = uneven();
  EXPECT_EQ(cluster.type_bit(GpuId(0)), cluster.type_bit(GpuId(5)));
  EXPECT_NE(cluster.type_bit(GpuId(0)), cluster.type_bit(GpuId(2)));
  EXPECT_EQ(cluster.type_names()[cluster.gpu(GpuId(2)).type], "large");
  EXPECT_EQ(cluster.gpu(GpuId(2)).slots, 7);
}

TEST(Cluster, ListsNodesBySwitch) {
  const Cluster cluster = uneven();
  ASSERT_EQ(cluster.switches(), 2U);
  ASSERT_EQ(cluster.nodes_of(SwitchId(0)).size(), 2U);
  ASSERT_EQ(cluster.nodes_of(SwitchId(1)).size(), 2U);
  EXPECT_EQ(cluster.nodes_of(SwitchId(1))[0].name, "c");
}

TEST(Cluster, RefusesNodesWithoutASwitch) {
  Cluster cluster;
  EXPECT_DEATH(cluster.add_node({.name = "a"}), "switches\\(\\) > 0");
}

TEST(Cluster, RefusesMoreTypesThanBits) {
  Cluster cluster;
  cluster.add_switch();
  for (int i = 0; i < 64; ++i) cluster.add_node({.gpus = 1, .type = std::to_string(i)});
  EXPECT_DEATH(cluster.add_node({.gpus = 1, .type = "one more"}), "<= limits::kMostTypes");
}

TEST(Cluster, ATypeForEachIndexIsDescribedAsItWasMade) {
  Cluster cluster;
  cluster.add_switch();
  const NodeShape shape{.name = "n1", .gpus = 3, .vram = 80_GiB, .type = "g#"};
  cluster.add_node(shape);
  cluster.add_node({.name = "n2", .gpus = 2, .vram = 80_GiB, .type = "g#"});
  EXPECT_THAT(cluster.type_names(), testing::ElementsAre("g0", "g1", "g2"));
  EXPECT_EQ(cluster.gpu(GpuId(1)).type, cluster.gpu(GpuId(4)).type);
  EXPECT_EQ(cluster.shape_of(NodeId(0)).type, "g#");
  EXPECT_EQ(cluster.shape_of(NodeId(1)).gpus, 2U);
}

TEST(Cluster, BeginsWithTheSameNodes) {
  const auto of = [](std::initializer_list<std::uint32_t> nodes) {
    Cluster cluster;
    cluster.add_switch();
    for (const std::uint32_t gpus : nodes) {
      cluster.add_node({.name = "n" + std::to_string(gpus), .gpus = gpus, .vram = Bytes(80)});
    }
    return cluster;
  };
  EXPECT_TRUE(of({2, 3}).begins_with(of({2})));
  EXPECT_TRUE(of({2, 3}).begins_with(of({2, 3})));
  EXPECT_TRUE(of({2}).begins_with(Cluster()));
  EXPECT_FALSE(of({2}).begins_with(of({2, 3})));
  EXPECT_FALSE(of({3, 2}).begins_with(of({2})));
}

}  // namespace
}  // namespace berth
