// Goal: under `--vram-shrink` a charge falls to what its job held, the next job starts then, and a
// job that grows afterwards pays for it. Method: one GPU of 16 GiB and two jobs worked out by hand.
#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "sim/simulator.hpp"

namespace berth::sim {
namespace {

using namespace literals;

trace::TraceJob asking(int submit, int run, Bytes vram, std::string_view use) {
  trace::TraceJob job{.name = "j",
                      .submit = kStart + seconds(submit),
                      .duration = seconds(run),
                      .spec = {.user = UserId(1)}};
  job.spec.request.gpu.count = GpuCount(1);
  job.spec.request.gpu.vram = vram;
  job.use = *trace::parse_use_curve(use);
  return job;
}

Result replay(const trace::Trace& trace, std::optional<ShrinkRule> shrink) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = 1, .vram = 16_GiB, .context = 256_MiB});
  const Options options{.memory = {.is_on = true, .retries = 0}, .shrink = shrink};
  return *simulate(trace, cluster, *make_policy("fifo-skip", "first-fit"), options);
}

constexpr ShrinkRule kAfterAMinute{.warm_up = seconds(60)};

TEST(SimShrink, TheNextJobStartsWhenTheChargeFalls) {
  trace::Trace trace;
  trace.jobs = {asking(0, 600, 12_GiB, "0:3072"), asking(1, 100, 8_GiB, "0:7168")};
  EXPECT_EQ(replay(trace, std::nullopt).jobs[1].start, kStart + seconds(600));
  const Result shrunk = replay(trace, kAfterAMinute);
  EXPECT_EQ(shrunk.jobs[1].start, kStart + seconds(60));
  EXPECT_EQ(shrunk.jobs[0].end, kStart + seconds(600));
  EXPECT_FALSE(shrunk.jobs[0].memory.failed);
}

TEST(SimShrink, AJobThatGrowsAfterwardsPays) {
  trace::Trace trace;
  trace.jobs = {asking(0, 600, 12_GiB, "0:3072|300:3072|301:11264"),
                asking(1, 500, 8_GiB, "0:7168")};
  EXPECT_FALSE(replay(trace, std::nullopt).jobs[0].memory.failed);
  const Result shrunk = replay(trace, kAfterAMinute);
  EXPECT_TRUE(shrunk.jobs[0].memory.failed);
  EXPECT_FALSE(shrunk.jobs[1].memory.failed) << "its memory was granted";
}

TEST(SimShrink, AJobThatHoldsWhatItAskedForKeepsItsCharge) {
  trace::Trace trace;
  trace.jobs = {asking(0, 600, 12_GiB, "0:12288"), asking(1, 100, 8_GiB, "0:7168")};
  EXPECT_EQ(replay(trace, kAfterAMinute).jobs[1].start, kStart + seconds(600));
}

}  // namespace
}  // namespace berth::sim
