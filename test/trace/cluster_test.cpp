// Goal: a cluster's shape is read exactly or refused.
// Method: tables of texts.
#include <gtest/gtest.h>

#include "trace/trace.hpp"

namespace berth::trace {
namespace {

TEST(ParseCluster, NodesTimesGpus) {
  const auto cluster = parse_cluster("32x4");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->switches(), 1U);
  EXPECT_EQ(cluster->nodes().size(), 32U);
  EXPECT_EQ(cluster->gpu_count(), GpuCount(128));
  EXPECT_EQ(cluster->node(NodeId(31)).name, "n31");
}

TEST(ParseCluster, SwitchesTimesNodesTimesGpus) {
  const auto cluster = parse_cluster("2x3x8");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->switches(), 2U);
  EXPECT_EQ(cluster->nodes_of(SwitchId(1)).size(), 3U);
  EXPECT_EQ(cluster->gpu_count(), GpuCount(48));
}

TEST(ParseCluster, TheLargestIsAMillionGpus) {
  EXPECT_TRUE(parse_cluster("1000x1000"));
  EXPECT_FALSE(parse_cluster("1000x1001"));
  EXPECT_FALSE(parse_cluster("1000000x1000000x1000000"));
}

TEST(ParseCluster, MayEndWithTheMemoryOfAGpu) {
  for (const char* text : {"1x4x80G", "1x1x4x80GiB"}) {
    const auto cluster = parse_cluster(text);
    ASSERT_TRUE(cluster && is_shape(text)) << text;
    EXPECT_EQ(cluster->gpu_count(), GpuCount(4));
    EXPECT_EQ(cluster->gpu(GpuId(0)).capacity, Bytes(std::int64_t{80} << 30));
  }
  for (const char* file : {"4x8x80g.toml", "1x4x0G", "1x4xG", "nodes.txt", "x"}) {
    EXPECT_FALSE(is_shape(file) && parse_cluster(file)) << file;
  }
}

TEST(ParseCluster, RefusesAnythingElse) {
  for (const char* bad : {"", "4", "4x", "x4", "4x4x", "4xx4", "0x4", "4x0", "-1x4", "4x4x4x4",
                          "4X4", "4 x 4", " 4x4", "4x4 ", "99999999999x1", "1.5x4"}) {
    const auto cluster = parse_cluster(bad);
    ASSERT_FALSE(cluster) << bad;
    EXPECT_EQ(cluster.error().code, ErrorCode::InvalidArgument);
    EXPECT_TRUE(
        cluster.error().message.starts_with("cluster '" + std::string(bad) + "': expected"));
  }
}

}  // namespace
}  // namespace berth::trace
