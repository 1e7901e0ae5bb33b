// Goal: what the options say of suspension is what a run does: where jobs go on, which are left
// alone, what host memory they need, and how long the copies take.
// Method: srtf on a few GPUs, worked out by hand.
#include "sim/suspension.hpp"

#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "report/metrics.hpp"
#include "sim/one_gpu_job.hpp"
#include "sim/simulator.hpp"

namespace berth::sim {
namespace {

using namespace literals;

Cluster cluster_with(std::uint32_t nodes, std::uint32_t gpus) {
  Cluster cluster;
  cluster.add_switch();
  for (std::uint32_t n = 0; n < nodes; ++n) {
    cluster.add_node(
        {.name = "n" + std::to_string(n), .gpus = gpus, .vram = 24_GiB, .context = 256_MiB});
  }
  return cluster;
}

trace::TraceJob gang_job(const char* name, int submit, int run, std::int64_t gpus) {
  trace::TraceJob job = one_gpu_job(name, submit, run);
  job.spec.request.gpu.count = GpuCount(gpus);
  return job;
}

class SuspensionTest : public testing::Test {
 protected:
  void run(const Cluster& cluster, const Options& options) {
    result_ = *simulate(trace_, cluster, *make_policy("srtf", "first-fit"), options);
    metrics_ = measure(trace_, cluster, result_);
    EXPECT_EQ(result_.dropped, 0U);
  }
  double start(std::size_t i) const { return in_seconds(result_.jobs[i].start - kStart); }
  double end(std::size_t i) const { return in_seconds(result_.jobs[i].end - kStart); }

  /// `long` runs from 0 and is to give way at 1000 s to `short`, which needs 100 s.
  void displace_long() {
    trace_.jobs = {one_gpu_job("long", 0, 3600), one_gpu_job("short", 1000, 100)};
  }

  trace::Trace trace_;
  Result result_;
  Metrics metrics_;
};

TEST_F(SuspensionTest, OnItsOwnNodeAJobWaitsForThatNode) {
  // `mid` has the first node until 300; `short` displaces `long` from the second at 100.
  trace_.jobs = {one_gpu_job("long", 0, 1000), one_gpu_job("mid", 0, 300),
                 one_gpu_job("short", 100, 500)};
  const Cluster cluster = cluster_with(2, 1);
  run(cluster, {});
  EXPECT_EQ(result_.jobs[0].host, NodeId(0));
  EXPECT_EQ(end(0), 300 + 900);
  run(cluster, {.suspend = {.in_place = true}});
  EXPECT_EQ(result_.jobs[0].host, NodeId(1));
  EXPECT_EQ(end(0), 600 + 900);
}

TEST_F(SuspensionTest, OnItsOwnNodesAGangHasAsManyGpusOnEach) {
  // `gang` has both GPUs of the first node and one of the second; `pair` displaces it at 100, and
  // at 200 `one` takes a GPU of the first node.
  trace_.jobs = {gang_job("gang", 0, 1000, 3), gang_job("pair", 100, 100, 2),
                 one_gpu_job("one", 200, 400)};
  const Cluster cluster = cluster_with(2, 2);
  run(cluster, {});
  EXPECT_EQ(result_.jobs[0].gpus, (std::vector{GpuId(1), GpuId(2), GpuId(3)}));
  EXPECT_EQ(end(0), 200 + 900);
  run(cluster, {.suspend = {.in_place = true}});
  EXPECT_EQ(result_.jobs[0].gpus, (std::vector{GpuId(0), GpuId(1), GpuId(2)}));
  EXPECT_EQ(end(0), 600 + 900);
}

TEST_F(SuspensionTest, AGangIsLeftAloneWhereOnlyJobsOfOneGpuAreSuspended) {
  trace_.jobs = {gang_job("gang", 0, 1000, 2), one_gpu_job("short", 100, 100)};
  run(cluster_with(1, 2), {});
  EXPECT_EQ(start(1), 100);
  EXPECT_EQ(end(0), 1100);
  run(cluster_with(1, 2), {.suspend = {.one_gpu_only = true}});
  EXPECT_EQ(start(1), 1000);
  EXPECT_EQ(result_.jobs[0].preemptions, 0);
  displace_long();
  run(cluster_with(1, 1), {.suspend = {.one_gpu_only = true}});
  EXPECT_EQ(start(1), 1000);
  EXPECT_EQ(end(0), 3700);
}

TEST_F(SuspensionTest, OneThatFailsIsNotTried) {
  displace_long();
  run(cluster_with(1, 1), {.suspend = {.fails = 100}});
  EXPECT_EQ(start(1), 3600);
  EXPECT_EQ(result_.jobs[0].preemptions, 0);
  EXPECT_EQ(metrics_.machine->preemptions_a_job, 0);
}

TEST_F(SuspensionTest, ServicesAreLeftAlone) {
  trace_.jobs = {one_gpu_job("a", 0, 1), one_gpu_job("s", 0, 1)};
  trace_.jobs[1].spec.duration_class = DurationClass::Service;
  const Suspension suspension(trace_, {}, 1);
  EXPECT_TRUE(suspension.can_be(0));
  EXPECT_FALSE(suspension.can_be(1));
}

TEST_F(SuspensionTest, AGangThatSavesItsStateGivesWay) {
  trace::Trace trace;
  trace.jobs = {one_gpu_job("saves", 0, 60), one_gpu_job("does not", 0, 60)};
  for (trace::TraceJob& job : trace.jobs) job.spec.request.gpu.count = GpuCount(2);
  trace.jobs[0].spec.conditions.edit().on_preempt.signal = 15;
  const Suspension suspension(trace, {.one_gpu_only = true}, 1);
  EXPECT_TRUE(suspension.can_be(0));
  EXPECT_FALSE(suspension.can_be(1));
}

TEST_F(SuspensionTest, ThePartThatFailsFollowsTheSeed) {
  for (int i = 0; i < 1000; ++i) trace_.jobs.push_back(one_gpu_job("j", 0, 1));
  const auto count = [&](std::uint64_t seed) {
    const Suspension suspension(trace_, {.fails = 30}, seed);
    int able = 0;
    for (std::size_t i = 0; i < 1000; ++i) able += suspension.can_be(i) ? 1 : 0;
    return able;
  };
  EXPECT_NEAR(count(1), 700, 60);
  EXPECT_EQ(count(1), count(1));
  EXPECT_NE(count(1), count(2));
}

TEST_F(SuspensionTest, WithoutHostMemoryAJobRunsOn) {
  displace_long();
  trace_.jobs[1].spec.suspending = Suspending::No;  // so it needs no room itself
  run(cluster_with(1, 1), {.suspend = {.host_memory = 23_GiB}});
  EXPECT_EQ(start(1), 3600);
  EXPECT_EQ(end(0), 3600);
  EXPECT_EQ(result_.jobs[0].preemptions, 0);
  EXPECT_EQ(result_.suspended, Bytes(0));
  run(cluster_with(1, 1), {.suspend = {.host_memory = 24_GiB}});
  EXPECT_EQ(start(1), 1000);
  EXPECT_EQ(result_.suspended, 24_GiB) << "a whole GPU, as nothing says what it uses";
  EXPECT_EQ(metrics_.machine->preemptions_a_job, 0.5);
}

TEST_F(SuspensionTest, AJobIsSuspendedOnceWhatItUsesFits) {
  // `long` holds 1.3 GiB from 1030 on, and 10.3 before 1029.
  displace_long();
  trace_.jobs[1].spec.suspending = Suspending::No;  // so it needs no room itself
  trace_.jobs[0].use = trace::UseCurve({{.at = seconds(0), .bytes = 10_GiB},
                                        {.at = seconds(1029), .bytes = 10_GiB},
                                        {.at = seconds(1030), .bytes = 1_GiB}});
  run(cluster_with(1, 1), {.suspend = {.host_memory = 4_GiB}});
  EXPECT_GT(start(1), 1029);
  EXPECT_LE(start(1), 1030);
  EXPECT_EQ(result_.jobs[0].preemptions, 1);
  EXPECT_LE(result_.suspended, 4_GiB);
}

TEST_F(SuspensionTest, AFullNodeSuspendsNoFurtherJob) {
  // Host memory holds one job: `longer`, which `first` displaces. Neither `long` nor `first` gives
  // way to `second`.
  trace_.jobs = {one_gpu_job("long", 0, 3600), one_gpu_job("longer", 0, 4000),
                 one_gpu_job("first", 100, 400), one_gpu_job("second", 110, 300)};
  for (const std::size_t job : {2U, 3U}) trace_.jobs[job].spec.suspending = Suspending::No;
  run(cluster_with(1, 2), {.suspend = {.host_memory = 24_GiB}});
  EXPECT_EQ(start(2), 100);
  EXPECT_EQ(start(3), 500);
  EXPECT_EQ(result_.jobs[0].preemptions, 0);
  EXPECT_EQ(result_.jobs[1].preemptions, 1);
}

TEST_F(SuspensionTest, AJobTakesTheHostMemoryThatItUsesOnItsGpus) {
  displace_long();
  trace_.jobs[1].spec.suspending = Suspending::No;  // so it needs no room itself
  trace_.jobs[0].use = trace::UseCurve({{.at = seconds(0), .bytes = 4_GiB}});
  run(cluster_with(1, 1), {.suspend = {.host_memory = 8_GiB}});
  EXPECT_EQ(start(1), 1000);
  EXPECT_EQ(result_.suspended, 4_GiB + 256_MiB);
}

TEST_F(SuspensionTest, CopiesTakeTheirTime) {
  displace_long();
  run(cluster_with(1, 1), {.costs = {.restart = seconds(2), .stop = seconds(1)},
                           .suspend = {.rate = {.out = 2_GiB, .back = 6_GiB}}});
  EXPECT_EQ(start(1), 1000 + 1 + 12);
  EXPECT_EQ(end(1), 1113);
  EXPECT_EQ(end(0), 1113 + 2 + 4 + 2600);
  EXPECT_EQ(result_.jobs[0].spent.overhead, seconds(1 + 12 + 2 + 4));
}

TEST_F(SuspensionTest, NodesCopyAtTheSameTimeAndGiveTheirMemoryBack) {
  Suspension suspension(trace_, {.host_memory = 8_GiB, .rate = {.out = 2_GiB, .back = 4_GiB}}, 1);
  EXPECT_EQ(suspension.suspend(0, {{NodeId(0), 8_GiB}, {NodeId(1), 2_GiB}}), seconds(4));
  EXPECT_EQ(suspension.suspend(1, {{NodeId(1), 4_GiB}, {NodeId(0), 1_GiB}}), std::nullopt);
  EXPECT_EQ(suspension.suspend(1, {{NodeId(1), 6_GiB}}), seconds(3)) << "the other took nothing";
  EXPECT_EQ(suspension.resume(0), seconds(2));
  EXPECT_EQ(suspension.resume(0), seconds(0)) << "it is not suspended any more";
  EXPECT_EQ(suspension.suspend(2, {{NodeId(0), 8_GiB}}), seconds(4));
  EXPECT_EQ(suspension.most(), 8_GiB);
}

TEST_F(SuspensionTest, RatesAreReadAsWritten) {
  EXPECT_EQ(parse_suspend_rate("2G:6G"), (SuspendRate{.out = 2_GiB, .back = 6_GiB}));
  for (const char* text : {"", "2G", ":6G", "2G:", "2G:6G:1G", "0:1G", "fast"}) {
    ASSERT_FALSE(parse_suspend_rate(text)) << text;
    EXPECT_EQ(parse_suspend_rate(text).error().message,
              "--suspend-rate: '" + std::string(text) +
                  "' is not OUT:IN in bytes a second, such as 2G:6G");
  }
}

}  // namespace
}  // namespace berth::sim
