// Goal: Slurm's nodes are the cluster that berth places on, and a place is asked of Slurm exactly.
// Method: nodes as Slurm 22.05 tells them, and nodes whose GPUs cannot be told apart.
#include "slurm/nodes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::slurm {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::Pair;

std::vector<NodeRecord> two_nodes() {
  NodeRecord one;
  one.name = "n10";
  one.gres = "gpu:g0:1,shard:g0:80,gpu:g1:1,shard:g1:80";
  one.cpus = 64;
  one.memory = 100_GiB;
  NodeRecord other = one;
  other.name = "n2";
  NodeRecord plain;
  plain.name = "login";
  return {one, plain, other};
}

TEST(Nodes, WithTypedShardsAreTheCluster) {
  const auto cluster = cluster_of(two_nodes(), 4);
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_EQ(cluster->nodes().size(), 2U);
  EXPECT_EQ(cluster->node(NodeId(0)).name, "n2");
  EXPECT_EQ(cluster->gpus().size(), 4U);
  EXPECT_EQ(cluster->gpu(GpuId(3)).capacity, 80_GiB);
}

std::vector<std::string> names_of(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const NodeSpec& node : cluster.nodes()) names.push_back(node.name);
  return names;
}

TEST(Nodes, OfBeforeComeFirstAsTheyWere) {
  auto nodes = two_nodes();
  const auto before = cluster_of(nodes, 4);
  ASSERT_TRUE(before);
  NodeRecord added = nodes[0];
  added.name = "n3";
  nodes.push_back(added);
  for (NodeRecord& node : nodes) node.memory = 200_GiB;
  const auto more = cluster_of(nodes, 4, *before);
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_EQ(names_of(*more), (std::vector<std::string>{"n2", "n10", "n3"}));
  EXPECT_TRUE(more->begins_with(*before)) << "host memory is as it was";
  nodes.erase(nodes.begin());  // n10
  EXPECT_EQ(cluster_of(nodes, 4, *more), *more) << "which Slurm no longer has";
  nodes[1].gres = "gpu:g0:1,shard:g0:40";  // n2
  EXPECT_EQ(cluster_of(nodes, 4, *more)->gpus().size(), 5U);
  EXPECT_EQ(names_of(*cluster_of(nodes, 4)), (std::vector<std::string>{"n2", "n3"}));
}

TEST(Nodes, HaveLimitsForTheScriptThatRefusesJobs) {
  const auto cluster = cluster_of(two_nodes(), 4);
  EXPECT_EQ(limits_of(*cluster), "gib 80\ngpus 4\n");
}

TEST(Nodes, WhoseGpusCannotBeToldApartAreRefused) {
  auto nodes = two_nodes();
  nodes[0].gres = "shard:g0:80,shard:g2:80";
  auto cluster = cluster_of(nodes, 4);
  ASSERT_FALSE(cluster);
  EXPECT_NE(cluster.error().message.find("n10"), std::string::npos) << cluster.error().message;
  nodes[0].gres = "shard:g0:80,shard:g1:40";
  EXPECT_FALSE(cluster_of(nodes, 4));
  for (NodeRecord& node : nodes) node.gres = "gpu:8";
  EXPECT_FALSE(cluster_of(nodes, 4));
}

Grant grant_of(const Cluster& cluster, std::vector<std::uint32_t> gpus, Bytes each) {
  Grant grant;
  for (const std::uint32_t gpu : gpus) {
    grant.shares.push_back({.gpu = GpuId(gpu), .charge = each, .granted = each});
  }
  grant.host = cluster.node_of(GpuId(gpus.front()));
  return grant;
}

TEST(Place, IsAskedForOnTheNodeAndTheGpus) {
  const auto cluster = cluster_of(two_nodes(), 4);
  const auto place = place_of(grant_of(*cluster, {2, 3}, 40_GiB), *cluster);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->nodes, "n10");
  EXPECT_EQ(place->gres, "gres:shard:g0:40,gres:shard:g1:40");
  EXPECT_EQ(place->text, "n10:0,n10:1");
}

TEST(Place, OnSeveralNodesNeedsTheSameIndices) {
  const auto cluster = cluster_of(two_nodes(), 4);
  const auto same = place_of(grant_of(*cluster, {0, 2}, 40_GiB), *cluster);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->nodes, "n2,n10");
  EXPECT_EQ(same->node_count, 2U);
  EXPECT_EQ(same->gres, "gres:shard:g0:40");
  EXPECT_FALSE(place_of(grant_of(*cluster, {0, 3}, 40_GiB), *cluster));
}

TEST(Place, OfAJobThatSlurmRunsIsFoundAgain) {
  const auto cluster = cluster_of(two_nodes(), 4);
  JobRecord job;
  job.nodes = {"n2", "n10"};
  job.gres_there = {"shard:g1:20(IDX:1)", "shard:g0:5(IDX:0)"};
  EXPECT_THAT(held_by(job, *cluster), ElementsAre(Pair(GpuId(1), 20_GiB), Pair(GpuId(2), 5_GiB)));
}

JobRecord running_on(std::vector<std::string> nodes, std::vector<std::string> gres_there) {
  JobRecord job;
  job.phase = Phase::Running;
  job.nodes = std::move(nodes);
  job.gres_there = std::move(gres_there);
  return job;
}

TEST(Missing, AreShardsThatSlurmDidNotGive) {
  const auto cluster = cluster_of(two_nodes(), 4);
  const Grant grant = grant_of(*cluster, {0, 1}, 20_GiB);
  EXPECT_EQ(missing_from(running_on({"n2"}, {}), grant, *cluster), "n2:0,n2:1");
  EXPECT_EQ(missing_from(running_on({"n2"}, {""}), grant, *cluster), "n2:0,n2:1");
  EXPECT_EQ(missing_from(running_on({"n2"}, {"shard:g1:20(IDX:1)"}), grant, *cluster), "n2:0");
  const Grant gang = grant_of(*cluster, {0, 2}, 20_GiB);
  EXPECT_EQ(missing_from(running_on({"n2", "n10"}, {"shard:g0:20", ""}), gang, *cluster), "n10:0");
}

TEST(Missing, IsNothingOfAJobThatIsWell) {
  const auto cluster = cluster_of(two_nodes(), 4);
  const Grant grant = grant_of(*cluster, {0, 1}, 19_GiB + Bytes(1));
  const std::string both = "shard:g0:20(IDX:0),shard:g1:20(IDX:1)";
  EXPECT_EQ(missing_from(running_on({"n2"}, {both}), grant, *cluster), "");
  // Less than is granted now is more than nothing: the grant may have grown.
  EXPECT_EQ(missing_from(running_on({"n2"}, {"shard:g0:1,shard:g1:1"}), grant, *cluster), "");
  EXPECT_EQ(missing_from(running_on({"n2"}, {}), Grant(), *cluster), "");
}

TEST(Missing, IsNothingThatSlurmDoesNotTell) {
  const auto cluster = cluster_of(two_nodes(), 4);
  const Grant gang = grant_of(*cluster, {0, 2}, 20_GiB);
  EXPECT_EQ(missing_from(running_on({"n2", "n10"}, {"shard:g0:20"}), gang, *cluster), "");
  EXPECT_EQ(missing_from(running_on({"n2"}, {"shard:g0:20"}), gang, *cluster), "");
  EXPECT_EQ(missing_from(running_on({}, {}), gang, *cluster), "");
  for (const Phase phase : {Phase::Pending, Phase::Suspended, Phase::Over}) {
    JobRecord job = running_on({"n2", "n10"}, {});
    job.phase = phase;
    EXPECT_EQ(missing_from(job, gang, *cluster), "");
  }
  JobRecord ending = running_on({"n2", "n10"}, {});
  ending.is_completing = true;
  EXPECT_EQ(missing_from(ending, gang, *cluster), "");
}

}  // namespace
}  // namespace berth::slurm
