// Goal: a virtual cluster runs as it would alone, and the runs together count once.
// Method: two virtual clusters of one node each, worked out by hand; each alone beside both.
#include "sim/virtual_clusters.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "policy/registry.hpp"
#include "report/metrics.hpp"
#include "sim/one_gpu_job.hpp"
#include "trace/trace.hpp"

namespace berth::sim {
namespace {

class VirtualClustersTest : public testing::Test {
 protected:
  void add(const char* name, const char* user, int submit, int run, int gpus) {
    trace::TraceJob one = one_gpu_job(name, submit, run);
    one.user = user;
    one.spec.user = UserId(user[0] == 'a' ? 1 : 2);
    one.spec.request.gpu.count = GpuCount(gpus);
    trace_.jobs.push_back(one);
  }
  Expected<Result> run(std::vector<VirtualCluster> parts, Options options = {}) {
    return simulate_apart(
        {trace_, cluster_}, parts, options,
        [](const trace::Trace& trace, const Cluster& cluster, const Options& all) {
          return simulate(trace, cluster, *make_policy("fifo", ""), all);
        });
  }
  static int second(Instant at) { return static_cast<int>((at - kStart) / seconds(1)); }

  trace::Trace trace_;
  Cluster cluster_ = *trace::parse_cluster("2x4");
};

TEST_F(VirtualClustersTest, NobodyWaitsForAnothers) {
  add("a1", "a", 0, 100, 4);
  add("a2", "a", 1, 10, 4);
  add("b1", "b", 2, 10, 1);  // fifo over both would hold it up behind a2
  const auto result = run({{"b", 1}, {"a", 1}}, {.record = true});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(second(result->jobs[0].start), 0);
  EXPECT_EQ(second(result->jobs[1].start), 100);
  EXPECT_EQ(second(result->jobs[2].start), 2);
  EXPECT_EQ(result->jobs[2].gpus, std::vector{GpuId(0)}) << "b has the first node";
  EXPECT_EQ(result->jobs[0].gpus.front(), GpuId(4));
  EXPECT_EQ(result->jobs[0].host, NodeId(1));
  ASSERT_EQ(result->stretches.size(), 3U);
  EXPECT_EQ(result->stretches[1].job, 2U) << "by start, whoever's it is";
}

TEST_F(VirtualClustersTest, UseIsOfTheWholeCluster) {
  add("a1", "a", 0, 100, 4);
  add("b1", "b", 50, 150, 2);
  const auto result = run({{"a", 1}, {"b", 1}}, {.prices = {{"", 3600.0}}});
  ASSERT_TRUE(result);
  const Metrics metrics = measure(trace_, cluster_, *result);
  EXPECT_DOUBLE_EQ(metrics.makespan, 200);
  EXPECT_DOUBLE_EQ(metrics.allocated, (4 * 100 + 2 * 150) / (8 * 200.0));
  ASSERT_TRUE(metrics.arriving);
  EXPECT_DOUBLE_EQ(metrics.arriving->seconds, 50);
  EXPECT_DOUBLE_EQ(metrics.arriving->allocated, 4 * 50 / (8 * 50.0));
  EXPECT_DOUBLE_EQ(*metrics.machine->cost, 4 * 100 + 2 * 150);
}

TEST_F(VirtualClustersTest, WhoHasNoneIsRejectedAndSaysSo) {
  add("a1", "a", 0, 100, 1);
  add("b1", "b", 0, 100, 1);
  add("a2", "a", 0, 100, 8);
  const auto result = run({{"a", 1}, {"nobody", 1}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->jobs[1].refused, "job b1: its user 'b' has no virtual cluster");
  EXPECT_EQ(result->jobs[2].refused.substr(0, 5), "job 2") << "8 GPUs are more than a has";
  EXPECT_EQ(measure(trace_, cluster_, *result).rejected, 2U);
}

TEST_F(VirtualClustersTest, TypesOfGpusAreThoseOfItsOwnNodes) {
  cluster_ = Cluster();
  cluster_.add_switch();
  cluster_.add_node({.name = "k", .gpus = 1, .vram = Bytes(std::int64_t{1} << 30), .type = "k80"});
  cluster_.add_node({.name = "v", .gpus = 1, .vram = Bytes(std::int64_t{1} << 30), .type = "v100"});
  add("a1", "a", 0, 100, 1);
  add("b1", "b", 0, 100, 1);
  for (trace::TraceJob& one : trace_.jobs) one.types = {"v100"};
  ASSERT_TRUE(trace::accept_types(trace_, cluster_));
  const auto result = run({{"a", 1}, {"b", 1}});
  ASSERT_TRUE(result);
  EXPECT_NE(result->jobs[0].refused, "") << "a has no v100";
  EXPECT_EQ(result->jobs[1].gpus, std::vector{GpuId(1)});
}

TEST_F(VirtualClustersTest, NoMoreNodesThanThereAre) {
  add("a1", "a", 0, 100, 1);
  EXPECT_EQ(run({{"a", 2}, {"b", 1}}).error().message,
            "the virtual clusters have 3 nodes, the cluster has 2");
  EXPECT_EQ(run({{"c", 1}}).error().message,
            "no job of the trace is of a virtual cluster, the first is of 'a'");
}

TEST(VirtualClustersFile, IsReadWithAHeaderOrWithout) {
  const auto parts = read_virtual_clusters("vc,node num\n6214e9,64\n7f04ca,32\n", "vc.csv");
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ((*parts)[1].name, "7f04ca");
  EXPECT_EQ((*parts)[1].nodes, 32U);
  EXPECT_EQ(read_virtual_clusters("a,1\n", "vc.csv")->size(), 1U);
  for (const char* bad : {"", "vc,nodes\n", "a,1\na,2\n", "a,0\n", "a,-1\n", "a,1\nb,nan\n",
                          "a,1\nb,99999999999999999999\n", "a\n"}) {
    EXPECT_FALSE(read_virtual_clusters(bad, "vc.csv")) << bad;
  }
}

}  // namespace
}  // namespace berth::sim
