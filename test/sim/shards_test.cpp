// Goal: jobs take whole shards, as many as hold the memory they state.
// Method: a few requests on GPUs of 80 GiB in four shards.
#include "sim/shards.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::sim {
namespace {

using namespace literals;
using testing::HasSubstr;

Cluster cards(std::vector<Bytes> memories) {
  Cluster cluster;
  cluster.add_switch();
  for (const Bytes memory : memories) cluster.add_node({.name = "n", .gpus = 2, .vram = memory});
  return cluster;
}

GpuMilli share_of(Bytes asks, GpuMilli stated = GpuMilli(0)) {
  trace::Trace trace;
  trace.jobs.resize(1);
  trace.jobs[0].spec.request.gpu = {.count = GpuCount(1), .vram = asks, .milli = stated};
  EXPECT_TRUE(give_shards(trace, cards({80_GiB}), 4).has_value());
  return trace.jobs[0].spec.request.gpu.milli;
}

TEST(Shards, AreRoundedUpToWholeOnes) {
  EXPECT_EQ(share_of(1_GiB), GpuMilli(250));
  EXPECT_EQ(share_of(20_GiB), GpuMilli(250));
  EXPECT_EQ(share_of(20_GiB + Bytes(1)), GpuMilli(500));
  EXPECT_EQ(share_of(80_GiB), GpuMilli(1000));
  EXPECT_EQ(share_of(90_GiB), GpuMilli(1000)) << "it fits nowhere, which admission says";
}

TEST(Shards, KeepALargerShareAndJobsThatTakeWholeGpus) {
  EXPECT_EQ(share_of(1_GiB, GpuMilli(300)), GpuMilli(300));
  EXPECT_EQ(share_of(Bytes(0)), GpuMilli(0));
}

TEST(Shards, RefuseGpusThatDifferAndNumbersOutOfRange) {
  trace::Trace trace;
  EXPECT_THAT(give_shards(trace, cards({80_GiB, 40_GiB}), 4).error().message,
              HasSubstr("GPUs have the same memory"));
  EXPECT_THAT(give_shards(trace, cards({80_GiB}), 0).error().message,
              HasSubstr("--shards: '0' is not a number from 1 to 1000"));
}

}  // namespace
}  // namespace berth::sim
