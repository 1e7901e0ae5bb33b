// Goal: what can never run is refused when it is submitted, in words that name the thing, the value
// and the limit; what can run is not.
//
// Method: one request per rule against small clusters; the words are part of the interface.
#include "engine/possible.hpp"

#include <gtest/gtest.h>

#include "engine/rig.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;

/// What the engine says to this request of job 42; empty if it takes it.
std::string refusal(const Cluster& cluster, const Request& request) {
  Rig rig(cluster);
  JobSpec spec{.user = UserId(7), .request = request};
  const Effects& effects = rig.tell({Submitted{.job = JobId(42), .spec = spec}});
  if (effects.list.empty()) return "";
  const auto* const finished = only<Finished>(effects);
  EXPECT_EQ(finished->outcome, Outcome::Rejected);
  EXPECT_FALSE(rig.knows(JobId(42)));
  return finished->note;
}

Request gpus(std::int64_t count, Bytes vram) { return shared(count, vram).request; }

Cluster mixed() {
  Cluster cluster = nodes_of(1, 2);
  cluster.add_node({.name = "large", .gpus = 2, .vram = 80_GiB, .context = 1_GiB, .type = "h100"});
  return cluster;
}

TEST(Possible, TakesWhatFitsExactly) {
  EXPECT_EQ(refusal(nodes_of(1, 8), gpus(8, 24_GiB)), "");
  EXPECT_EQ(refusal(mixed(), gpus(2, 79_GiB)), "");
  EXPECT_EQ(refusal(mixed(), gpus(4, Bytes(0))), "");
  EXPECT_EQ(refusal(nodes_of(1, 8), Request{}), "");
}

TEST(Possible, NamesTheNumberOfGpus) {
  EXPECT_EQ(refusal(nodes_of(1, 8), gpus(9, 4_GiB)), "job 42: asks 9 GPUs, the cluster has 8");
}

TEST(Possible, NamesTheNumberOfGpusOfItsTypes) {
  Request request = gpus(3, 4_GiB);
  request.gpu.types = 2;
  EXPECT_EQ(refusal(mixed(), request),
            "job 42: asks 3 GPUs, the cluster has 2 of the types it accepts");
  request.gpu.types = 0;
  request.gpu.only = set_of(GpuId(1)) | set_of(GpuId(2)) | set_of(GpuId(9));
  EXPECT_EQ(refusal(mixed(), request),
            "job 42: asks 3 GPUs, the cluster has 2 of those it accepts");
  request.gpu.count = 2_gpus;
  EXPECT_EQ(refusal(mixed(), request), "");
  request.gpu.count = 1_gpus;
  request.gpu.only = set_of(GpuId(9));
  EXPECT_EQ(refusal(mixed(), request), "job 42: asks 1 GPU, the cluster has 0 of those it accepts");
}

TEST(Possible, NamesTheLargestGrantableMemory) {
  EXPECT_EQ(refusal(nodes_of(1, 8), gpus(1, 25_GiB)),
            "job 42: asks 25 GiB per GPU, the most a GPU here can give is 24 GiB");
  Request request = gpus(1, 79_GiB);
  request.gpu.processes = 2;  // each pays a context
  EXPECT_EQ(refusal(mixed(), request),
            "job 42: asks 79 GiB per GPU, the most a GPU here can give is 78 GiB");
}

TEST(Possible, NamesTheNumberOfGpusThatLarge) {
  EXPECT_EQ(refusal(mixed(), gpus(3, 40_GiB)),
            "job 42: asks 3 GPUs of 40 GiB, the cluster has 2 that large");
}

TEST(Possible, NamesTheCoresAndMemoryOfOneNode) {
  EXPECT_EQ(refusal(nodes_of(2, 8), {.cpu = CpuMilli(8500)}),
            "job 42: asks 8.5 cores, the limit is 8");
  EXPECT_EQ(refusal(nodes_of(2, 8), {.host = 65_GiB}),
            "job 42: asks 65 GiB of host memory, the limit is 64 GiB");
}

TEST(Possible, AddsUpTheCoresAndMemoryOfAllNodesForAGang) {
  Request request = gpus(2, 4_GiB);
  request.cpu = CpuMilli(16000);
  EXPECT_EQ(refusal(nodes_of(2, 8), request), "");
  request.cpu = CpuMilli(16001);
  EXPECT_EQ(refusal(nodes_of(2, 8), request), "job 42: asks 16.001 cores, the limit is 16");
}

TEST(Possible, ManyNodesWithoutABoundHaveNone) {  // 2^60 bytes each: the sum leaves 64 bits
  Cluster cluster;
  cluster.add_switch();
  for (int n = 0; n < 12; ++n) cluster.add_node({.name = "n", .gpus = 2, .vram = 24_GiB});
  Request request = gpus(2, 4_GiB);
  request.cpu = CpuMilli(1000);
  EXPECT_EQ(refusal(cluster, request), "");
}

TEST(Possible, RefusesWhatIsBelowTheLeastOrAboveTheMost) {
  const Cluster cluster = nodes_of(1, 8);
  EXPECT_EQ(refusal(cluster, gpus(-1, 1_GiB)), "job 42: asks -1 GPUs, the least is 0");
  EXPECT_EQ(refusal(cluster, gpus(1, Bytes(-5))),
            "job 42: asks -5 bytes of GPU memory, the least is 0");
  EXPECT_EQ(refusal(cluster, {.host = Bytes(-5)}),
            "job 42: asks -5 bytes of host memory, the least is 0");
  EXPECT_EQ(refusal(cluster, {.cpu = CpuMilli(-5)}),
            "job 42: asks -5 thousandths of a core, the least is 0");
  Request request = gpus(1, 1_GiB);
  request.gpu.processes = 0;
  EXPECT_EQ(refusal(cluster, request), "job 42: asks 0 processes per GPU, the least is 1");
  request.gpu.processes = 1025;
  EXPECT_EQ(refusal(cluster, request), "job 42: asks 1025 processes per GPU, the most is 1024");
  request = gpus(1, 1_GiB);
  request.gpu.milli = GpuMilli(-1);
  EXPECT_EQ(refusal(cluster, request), "job 42: asks -1 thousandths of a GPU, the least is 0");
}

TEST(Possible, RefusesMoreThanAWholeGpusCompute) {
  Request request = gpus(1, 1_GiB);
  request.gpu.milli = GpuMilli(1001);
  EXPECT_EQ(refusal(nodes_of(1, 8), request),
            "job 42: asks 1001 thousandths of each GPU, the most is 1000");
}

}  // namespace
}  // namespace berth::test
