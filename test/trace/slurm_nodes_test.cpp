// Goal: what `scontrol show nodes` prints becomes the cluster that it is of.
// Method: texts in the form of Slurm 22.05, good and bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/formats.hpp"

namespace berth::trace {
namespace {

using namespace literals;
using testing::HasSubstr;

constexpr const char* kNode =
    "NodeName=gpu01 Arch=x86_64 CoresPerSocket=16 \n"
    "   CPUAlloc=0 CPUEfctv=64 CPUTot=64 CPULoad=0.04\n"
    "   AvailableFeatures=(null)\n"
    "   Gres=gpu:a100_80gb:4(S:0-1,3),nvme:1\n"
    "   NodeAddr=gpu01 NodeHostName=gpu01 Version=22.05.8\n"
    "   OS=Linux 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01) \n"
    "   RealMemory=515000 AllocMem=0 FreeMem=1 Sockets=2 Boards=1\n"
    "   State=IDLE ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n\n";

std::string error_of(const std::string& text) {
  const auto cluster = read_cluster(text, "nodes");
  return cluster ? "none" : cluster.error().message;
}

TEST(SlurmNodes, AreKnownByTheirFirstLine) {
  const auto cluster = read_cluster(
      std::string(kNode) + "NodeName=login CPUTot=8 RealMemory=16000 Gres=(null)\n", "nodes");
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_EQ(cluster->nodes().size(), 2U);
  const NodeSpec& node = cluster->node(NodeId(0));
  EXPECT_EQ(node.name, "gpu01");
  EXPECT_EQ(node.gpus, 4U);
  EXPECT_EQ(node.cpu, CpuMilli(64'000));
  EXPECT_EQ(node.host, Bytes(std::int64_t{515'000} << 20));
  EXPECT_EQ(cluster->gpu(GpuId(3)).capacity, 80_GiB);
  EXPECT_EQ(cluster->type_names()[cluster->gpu(GpuId(0)).type], "a100_80gb");
  EXPECT_EQ(cluster->node(NodeId(1)).gpus, 0U);
}

TEST(SlurmNodes, WithSeveralTypesAreOneForEach) {
  const auto cluster = read_cluster(
      "NodeName=n1 CPUTot=8 RealMemory=8000 Gres=gpu:t4:1,gpu:v100-32g:3,gpu:t4:0 State=IDLE\n"
      "NodeName=n2 CPUTot=8 RealMemory=8000 Gres=gpu:2 State=IDLE\n",
      "nodes");
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_EQ(cluster->nodes().size(), 3U);
  EXPECT_EQ(cluster->node(NodeId(0)).name, "n1/t4");
  EXPECT_EQ(cluster->node(NodeId(1)).name, "n1/v100-32g");
  EXPECT_EQ(cluster->node(NodeId(1)).cpu, CpuMilli(6'000));
  EXPECT_EQ(cluster->gpu(GpuId(1)).capacity, 32_GiB);
  EXPECT_EQ(cluster->node(NodeId(2)).name, "n2");
  EXPECT_EQ(cluster->node(NodeId(2)).gpus, 2U);
}

TEST(SlurmNodes, WithATypeForEachGpuHaveWhatTheirShardsSay) {
  const auto cluster = read_cluster(
      "NodeName=n1 CPUTot=64 RealMemory=8000 "
      "Gres=gpu:g0:1,shard:g0:80(S:0),gpu:g1:1,shard:g1:80\n",
      "nodes");
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_EQ(cluster->nodes().size(), 1U);
  EXPECT_EQ(cluster->node(NodeId(0)).gpus, 2U);
  EXPECT_EQ(cluster->gpu(GpuId(1)).capacity, 80_GiB);
}

TEST(SlurmNodes, ThatCannotBeReadAreNamed) {
  EXPECT_THAT(error_of("NodeName=n1 CPUTot=many\n"),
              HasSubstr("nodes:1: CPUTot=many, expected a number of cores"));
  EXPECT_THAT(error_of("NodeName=n1 CPUTot=8\n   RealMemory=-1\n"),
              HasSubstr("nodes:2: RealMemory=-1, expected MiB"));
  EXPECT_THAT(error_of("NodeName=n1 Gres=gpu:a100:x\n"),
              HasSubstr("Gres=gpu:a100:x, expected gpu:TYPE:COUNT"));
  EXPECT_THAT(error_of("NodeName=n1 Gres=gpu:999999\nNodeName=n2 Gres=gpu:999999\n"),
              HasSubstr("more than"));
}

}  // namespace
}  // namespace berth::trace
