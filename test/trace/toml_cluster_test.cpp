// Goal: berth's own cluster file says what nodes there are, and a wrong one is refused by line.
// Method: small texts, good and bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/formats.hpp"

namespace berth::trace {
namespace {

using namespace literals;
using testing::HasSubstr;

TEST(TomlCluster, SaysEverythingOfANode) {
  const auto cluster = read_cluster(R"(
# two kinds of node
[[node]]
name = "big"
count = 2
gpus = 8
vram = "80G"
type = "A100"
slots = 7
cpu = 128
mem = "1T"
context = "512M"
switch = "east"

[[node]]
name = "old"
gpus = 2
vram = "16GiB"
type = "T4"
switch = "west"

[[node]]
name = "late"
gpus = 4
switch = "east"
)",
                                    "c.toml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->switches(), 2U);
  ASSERT_EQ(cluster->nodes().size(), 4U);
  EXPECT_EQ(cluster->nodes_of(SwitchId(0)).size(), 3U) << "of one switch, wherever they stand";
  EXPECT_EQ(cluster->node(NodeId(0)).name, "big0");
  EXPECT_EQ(cluster->node(NodeId(1)).name, "big1");
  EXPECT_EQ(cluster->node(NodeId(2)).name, "late");
  EXPECT_EQ(cluster->node(NodeId(3)).name, "old");
  EXPECT_EQ(cluster->node(NodeId(1)).cpu, CpuMilli(128'000));
  EXPECT_EQ(cluster->node(NodeId(1)).host, 1024_GiB);
  const GpuSpec& gpu = cluster->gpu(GpuId(15));
  EXPECT_EQ(gpu.capacity, 80_GiB);
  EXPECT_EQ(gpu.context, 512_MiB);
  EXPECT_EQ(gpu.slots, 7);
  EXPECT_EQ(cluster->type_names()[gpu.type], "A100");
  EXPECT_EQ(cluster->gpu_count(), GpuCount(22));
}

TEST(TomlCluster, DefaultsAreThoseOfAShape) {
  const auto file = read_cluster("[[node]]\ngpus = 4\n", "c.toml");
  const auto shape = parse_cluster("1x4");
  ASSERT_TRUE(file && shape);
  EXPECT_EQ(file->gpu(GpuId(0)), shape->gpu(GpuId(0)));
  EXPECT_EQ(file->node(NodeId(0)).cpu, shape->node(NodeId(0)).cpu);
}

TEST(TomlCluster, NamesLineColumnKeyAndLimit) {
  const auto error = [](const std::string& text) {
    const auto cluster = read_cluster(text, "c.toml");
    return cluster ? "none" : cluster.error().message;
  };
  EXPECT_EQ(error("[[node]]\ngpus = -1\n"), "c.toml:2:8: gpus: must be a number from 0 to 1000000");
  EXPECT_EQ(error("[[node]]\nvram = 80\n"),
            "c.toml:2:8: vram: must be a size such as \"80G\", up to 1024T");
  EXPECT_THAT(error("[[node]]\nmem = \"much\"\n"), HasSubstr("mem: must be a size"));
  EXPECT_THAT(error("[[node]]\ncpu = 0\n"), HasSubstr("cpu: must be a number from 1 to 100000"));
  EXPECT_THAT(error("[[node]]\nslots = 70000\n"), HasSubstr("slots: must be a number from 1 to "));
  EXPECT_THAT(error("[[node]]\ntype = \"\"\n"), HasSubstr("type: must be a string"));
  EXPECT_THAT(error("[[node]]\ngpu = 4\n"), HasSubstr("gpu: unknown key; valid keys: name, count"));
  EXPECT_THAT(error("nodes = 4\n"), HasSubstr("nodes: unknown key; valid keys: [[node]]"));
  EXPECT_EQ(error(""), "c.toml: is empty");
  EXPECT_EQ(error("# a comment\n"), "c.toml: no [[node]] table");
  EXPECT_EQ(error("node = 4\n"), "c.toml: no [[node]] table");
  EXPECT_THAT(error("node = [4]\n"), HasSubstr("node: must be [[node]] tables"));
  EXPECT_THAT(error("[[node]\n"), HasSubstr("c.toml:1:"));
  EXPECT_THAT(error("[[node]]\n\xc3\xa9 = 1\n"), HasSubstr("c.toml:2:1: more than ASCII"));
  EXPECT_EQ(error("[[node]]\ncount = 1000000\ngpus = 2\n"), "c.toml: more than 1,000,000 GPUs");
}

TEST(TomlCluster, HasAtMost63Types) {
  const auto text = [](int types) {
    std::string all;
    for (int i = 0; i < types; ++i) {
      all += "[[node]]\ngpus = 1\ntype = \"t" + std::to_string(i) + "\"\n";
    }
    return all;
  };
  EXPECT_TRUE(read_toml_cluster(text(63), "c.toml"));
  const auto cluster = read_toml_cluster(text(64), "c.toml");
  ASSERT_FALSE(cluster);
  EXPECT_EQ(cluster.error().message, "c.toml: more than 63 types of GPU");
}

TEST(ClusterFiles, AnUnknownOneIsNamed) {
  EXPECT_THAT(read_cluster("a,b\n1,2\n", "c.csv").error().message,
              HasSubstr("c.csv:1: the line is not the header of a cluster file; valid formats: "));
}

}  // namespace
}  // namespace berth::trace
