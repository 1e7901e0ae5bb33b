// Goal: nodes fail as often as stated, their jobs come again, and jobs that come after others wait
// for them; all of it the same for the same seed.
// Method: draws against their mean; runs worked out by hand or against what must hold.
#include "sim/faults.hpp"

#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "report/metrics.hpp"
#include "sim/dependencies.hpp"
#include "sim/one_gpu_job.hpp"
#include "sim/simulator.hpp"

namespace berth::sim {
namespace {

TEST(Exponential, HasItsMeanAndItsShape) {
  Rng rng(11);
  constexpr int kDraws = 100'000;
  double sum = 0;
  int above = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Duration time = draw_exponential(rng, hours(10));
    sum += in_seconds(time);
    above += time > hours(10) ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDraws, 36'000, 360);
  EXPECT_NEAR(static_cast<double>(above) / kDraws, 0.3679, 0.005);  // 1 / e
}

TEST(Faults, AreReadAsWritten) {
  const auto model = parse_faults("repair=2h,node-mtbf=30d");
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->node_mtbf, hours(24 * 30));
  EXPECT_EQ(model->repair, hours(2));
  EXPECT_EQ(parse_faults("gpu-mtbf=1d")->gpu_mtbf, hours(24));
  for (const char* text : {"", "30d", "repair=2h", "node-mtbf=soon", "disk-mtbf=1d", "=1d"}) {
    EXPECT_EQ(parse_faults(text).error().message,
              "--faults: '" + std::string(text) +
                  "' is not node-mtbf=TIME, gpu-mtbf=TIME or both, and repair=TIME, with commas");
  }
}

TEST(Faults, NodesAndGpusAreDownAndUpInTurn) {
  const Cluster cluster = *trace::parse_cluster("2x2");
  const FaultModel model{.node_mtbf = hours(5), .gpu_mtbf = hours(9), .repair = hours(1)};
  Faults faults(cluster, model, 3, kStart);
  std::vector<bool> nodes(2, true);
  std::vector<bool> gpus(4, true);
  Instant before = kStart;
  for (int i = 0; i < 100; ++i) {
    const Instant at = faults.next();
    EXPECT_GE(at, before);
    before = at;
    const auto change = faults.take(at);
    ASSERT_TRUE(change.has_value());
    if (const auto* node = std::get_if<NodeHealth>(&*change)) {
      EXPECT_NE(node->healthy, nodes[node->node.value()]);
      nodes[node->node.value()] = node->healthy;
    } else {
      const GpuHealth& gpu = std::get<GpuHealth>(*change);
      EXPECT_NE(gpu.healthy, gpus[gpu.gpu.value()]);
      gpus[gpu.gpu.value()] = gpu.healthy;
    }
    EXPECT_EQ(faults.all_up(), std::ranges::find(nodes, false) == nodes.end() &&
                                   std::ranges::find(gpus, false) == gpus.end());
  }
}

TEST(Faults, OnlyWhoIsOnAFailedGpuDies) {
  // Two jobs on two GPUs of one node; the one whose GPU fails first comes again, the other stays.
  trace::Trace trace;
  trace.jobs = {one_gpu_job("a", 0, 3600), one_gpu_job("b", 0, 3600)};
  const Cluster cluster = *trace::parse_cluster("1x2");
  const FaultModel model{.gpu_mtbf = hours(2), .repair = hours(1)};
  std::int64_t died = 0;
  std::int64_t both = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Faults faults(cluster, model, seed, kStart);
    const Instant first = faults.next();
    const GpuId gpu = std::get<GpuHealth>(*faults.take(first)).gpu;
    const auto result = simulate(trace, cluster, *make_policy("fifo-skip", "first-fit"),
                                 {.seed = seed, .faults = model});
    const bool strikes = first < kStart + seconds(3600);
    EXPECT_EQ(result->jobs[gpu.value()].faults > 0, strikes) << seed;
    died += strikes ? 1 : 0;
    both += result->jobs[0].faults > 0 && result->jobs[1].faults > 0 ? 1 : 0;
    EXPECT_EQ(result->dropped, 0U);
  }
  EXPECT_GT(died, 10);
  EXPECT_LT(both, died);
}

TEST(Faults, JobsComeAgainAndTheirLostWorkIsCounted) {
  trace::Trace trace;
  for (int i = 0; i < 40; ++i) trace.jobs.push_back(one_gpu_job("j", 60 * i, 3 * 3600));
  const Cluster cluster = *trace::parse_cluster("4x2");
  Options options{.seed = 5, .faults = {.node_mtbf = hours(6), .repair = minutes(30)}};
  options.explain_waits = true;
  const auto run = [&] {
    return *simulate(trace, cluster, *make_policy("fifo-skip", "first-fit"), options);
  };
  const Result result = run();
  const Metrics metrics = measure(trace, cluster, result);
  EXPECT_EQ(metrics.jobs, 40U);
  EXPECT_EQ(result.dropped, 0U);
  EXPECT_GT(metrics.machine->faults, 0);
  double lost = 0;
  double waited = 0;
  double explained = 0;
  for (const JobResult& one : result.jobs) {
    lost += in_seconds(one.spent.ran) - 3 * 3600;  // what it ran beyond its work was in vain
    waited += in_seconds(one.end - trace.jobs[one.job].submit - one.spent.ran);
  }
  for (const Duration time : *result.waits) explained += in_seconds(time);
  EXPECT_NEAR(metrics.machine->lost_gpu_hours, lost / 3600, 1e-6);
  EXPECT_NEAR(explained, waited, 1e-3);
  EXPECT_GT((*result.waits)[static_cast<std::size_t>(WaitReason::Health)], Duration(0));
  const Result same = run();
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(result.jobs[i].end, same.jobs[i].end);
}

TEST(Dependencies, AJobWaitsForAllItComesAfter) {
  trace::Trace trace;
  trace.jobs = {one_gpu_job("a", 0, 100), one_gpu_job("b", 0, 300), one_gpu_job("c", 10, 50),
                one_gpu_job("d", 20, 5)};
  trace.jobs[2].after = {"a", "b", "nobody"};
  trace.jobs[3].after = {"c"};
  const Cluster cluster = *trace::parse_cluster("1x4");
  Options options{.dependencies = true};
  options.explain_waits = true;
  const auto result = simulate(trace, cluster, *make_policy("fifo-skip", "first-fit"), options);
  EXPECT_EQ(result->jobs[2].start, kStart + seconds(300));
  EXPECT_EQ(result->jobs[3].start, kStart + seconds(350));
  EXPECT_EQ((*result->waits)[static_cast<std::size_t>(WaitReason::Dependency)], seconds(290 + 330));
  options.dependencies = false;
  const auto free = simulate(trace, cluster, *make_policy("fifo-skip", "first-fit"), options);
  EXPECT_EQ(free->jobs[3].start, kStart + seconds(20));
}

TEST(Faults, AJobThatTheyNeverLetEndIsSaid) {
  trace::Trace trace;
  trace.jobs = {one_gpu_job("long", 0, 1'000'000)};
  const Options options{.faults = {.node_mtbf = hours(1), .repair = hours(1)}};
  const auto result = simulate(trace, *trace::parse_cluster("1x1"),
                               *make_policy("fifo-skip", "first-fit"), options);
  EXPECT_EQ(result.error().message,
            "job long was lost to faults 1001 times and may never end; save its work with "
            "--checkpoint-every");
}

TEST(Faults, DoNotKeepARunAliveThatNobodyEnds) {
  trace::Trace trace;
  trace.jobs = {one_gpu_job("a", 0, 100), one_gpu_job("b", 0, 300)};
  trace.jobs[0].after = {"b"};
  trace.jobs[1].after = {"a"};
  const Options options{.faults = {.gpu_mtbf = hours(1), .repair = hours(100)},
                        .dependencies = true};
  const auto result = simulate(trace, *trace::parse_cluster("1x4"),
                               *make_policy("fifo-skip", "first-fit"), options);
  EXPECT_EQ(result.error().message, "2 jobs never start; the first is job a");
}

TEST(Dependencies, AUserThinksBeforeTheNext) {
  trace::Trace trace;
  trace.jobs = {one_gpu_job("a", 0, 100), one_gpu_job("b", 10, 50), one_gpu_job("c", 120, 5),
                one_gpu_job("d", 500, 5)};
  for (const std::size_t i : {1U, 2U, 3U}) {
    trace.jobs[i].after = {"a"};
    trace.jobs[i].think = seconds(30);
  }
  const auto result = simulate(trace, *trace::parse_cluster("1x4"),
                               *make_policy("fifo-skip", "first-fit"), {.dependencies = true});
  EXPECT_EQ(result->jobs[1].start, kStart + seconds(130));
  EXPECT_EQ(result->jobs[2].start, kStart + seconds(130));  // it came while its user thought
  EXPECT_EQ(result->jobs[3].start, kStart + seconds(500));
}

TEST(Dependencies, ACircleIsSaid) {
  trace::Trace trace;
  trace.jobs = {one_gpu_job("a", 0, 100), one_gpu_job("b", 0, 300)};
  trace.jobs[0].after = {"b"};
  trace.jobs[1].after = {"a"};
  const auto result = simulate(trace, *trace::parse_cluster("1x4"),
                               *make_policy("fifo-skip", "first-fit"), {.dependencies = true});
  EXPECT_EQ(result.error().message, "2 jobs never start; the first is job a");
}

}  // namespace
}  // namespace berth::sim
