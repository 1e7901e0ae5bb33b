// Goal: this machine as a cluster: ids are indices, capacity is what can be granted.
// Method: devices made by hand.
#include "gpu/machine.hpp"

#include <gtest/gtest.h>

#include "fake/gpu_port.hpp"

namespace berth {
namespace {

using namespace literals;

Device device(std::uint32_t index, const std::string& name, Bytes total) {
  return {.index = index, .name = name, .total = total, .reserved = 512_MiB};
}

Device broken(Device device) {
  device.problem = "GPU is lost";
  return device;
}

TEST(DescribeMachine, EqualGpusAreOneNode) {
  const std::vector<Device> devices = {device(0, "A", 24_GiB), device(1, "A", 24_GiB)};
  const Cluster cluster = describe_machine(
      devices,
      {.name = "box", .context = 300_MiB, .slots = 3, .cpu = CpuMilli(8000), .host = 64_GiB});
  ASSERT_EQ(cluster.nodes().size(), 1U);
  EXPECT_EQ(cluster.nodes()[0].name, "box");
  EXPECT_EQ(cluster.nodes()[0].cpu, CpuMilli(8000));
  EXPECT_EQ(cluster.nodes()[0].host, 64_GiB);
  ASSERT_EQ(cluster.gpus().size(), 2U);
  EXPECT_EQ(cluster.gpus()[1].capacity, 24_GiB - 512_MiB);
  EXPECT_EQ(cluster.gpus()[1].context, 300_MiB);
  EXPECT_EQ(cluster.gpus()[1].slots, 3U);
  EXPECT_EQ(cluster.type_names()[0], "A");
}

TEST(DescribeMachine, TheLeastOfNearlyEqualOnesCounts) {
  const std::vector<Device> devices = {device(0, "A", 24_GiB), device(1, "A", 24_GiB - 60_MiB)};
  const Cluster cluster = describe_machine(devices, {});
  ASSERT_EQ(cluster.nodes().size(), 1U);
  EXPECT_EQ(cluster.gpus()[0].capacity, 24_GiB - 60_MiB - 512_MiB);
}

TEST(DescribeMachine, DifferentOnesAreNodesUnderOneSwitch) {
  const std::vector<Device> devices = {device(0, "A", 24_GiB), device(1, "B", 80_GiB),
                                       device(2, "B", 80_GiB), device(3, "B", 40_GiB)};
  const Cluster cluster =
      describe_machine(devices, {.name = "box", .cpu = CpuMilli(8000), .host = 64_GiB});
  ASSERT_EQ(cluster.nodes().size(), 3U);
  EXPECT_EQ(cluster.switches(), 1U);
  EXPECT_EQ(cluster.nodes()[1].name, "box/1");
  EXPECT_EQ(cluster.nodes()[1].gpus, 2U);
  EXPECT_EQ(cluster.nodes()[1].cpu, CpuMilli(4000));
  EXPECT_EQ(cluster.nodes()[1].host, 32_GiB);
  EXPECT_EQ(cluster.gpus()[2].capacity, 80_GiB - 512_MiB);
  EXPECT_EQ(cluster.gpus()[3].capacity, 40_GiB - 512_MiB);
}

TEST(DescribeMachine, KeepsItsShapeWhenAGpuDies) {
  const std::vector<Device> whole = {device(0, "A", 24_GiB), device(1, "A", 24_GiB),
                                     device(2, "A", 24_GiB)};
  for (std::uint32_t dead = 0; dead < 3; ++dead) {
    auto devices = whole;
    devices[dead] = broken({.index = dead});
    EXPECT_EQ(describe_machine(devices, {}), describe_machine(whole, {})) << dead;
    devices[dead] = broken(device(dead, "A", 24_GiB));
    EXPECT_EQ(describe_machine(devices, {}), describe_machine(whole, {})) << dead;
  }
}

TEST(DescribeMachine, WithoutGpusOrWithNoneThatWorks) {
  const Cluster none = describe_machine({}, {.name = "box"});
  ASSERT_EQ(none.nodes().size(), 1U);
  EXPECT_EQ(none.gpu_count(), 0_gpus);
  const std::vector<Device> devices = {broken({.index = 0})};
  const Cluster dead = describe_machine(devices, {});
  ASSERT_EQ(dead.gpu_count(), 1_gpus);
  EXPECT_EQ(dead.gpus()[0].capacity, 0_MiB);
}

TEST(DescribeMachine, OfAPort) {
  test::FakeGpuPort gpus({8_GiB, 8_GiB});
  EXPECT_EQ(describe_machine(gpus.devices()->list, {}).total_vram(), 16_GiB);
}

TEST(DescribeMachine, LinksAreThoseAmongTheGpusOfANode) {
  std::vector<Device> devices(4);
  for (std::uint32_t g = 0; g < 4; ++g) {
    devices[g] = {.index = g, .name = g == 0 ? "A" : "B", .total = 24_GiB};
  }
  const std::vector<Link> links = {{.one = 0, .other = 1, .nvlinks = 4},
                                   {.one = 1, .other = 3, .nvlinks = 2},
                                   {.one = 2, .other = 3, .nearness = Nearness::OneSwitch}};
  const Cluster cluster = describe_machine(devices, {}, links);
  EXPECT_TRUE(cluster.links_of(NodeId(0)).empty());
  ASSERT_EQ(cluster.links_of(NodeId(1)).size(), 2U);
  EXPECT_EQ(cluster.distance(GpuId(1), GpuId(3)), distance_of(links[1]));
  EXPECT_EQ(cluster.distance(GpuId(3), GpuId(2)), distance_of(links[2]));
  EXPECT_EQ(cluster.distance(GpuId(1), GpuId(2)), kFarthest);
}

}  // namespace
}  // namespace berth
