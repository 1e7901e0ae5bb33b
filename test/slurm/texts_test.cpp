// Goal: what berth reads from Slurm is what Slurm says, and what it asks is what was granted.
// Method: texts as Slurm 22.05 prints them, and texts that are none.
#include "slurm/texts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slurm/nodes.hpp"

namespace berth::slurm {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::Pair;

TEST(Shards, AreReadAsSlurmPrintsThem) {
  EXPECT_THAT(parse_shards("gpu:g0:1,shard:g0:80,gpu:g1:1,shard:g1:80").per,
              ElementsAre(Pair(0, 80), Pair(1, 80)));
  EXPECT_THAT(parse_shards("shard:g5:20(IDX:5),shard:g7:30(IDX:7)").per,
              ElementsAre(Pair(5, 20), Pair(7, 30)));
  EXPECT_THAT(parse_shards("gres:shard:a100_3:7").per, ElementsAre(Pair(3, 7)));
  EXPECT_EQ(parse_shards("gres:shard:a100_3:7").stem, "a100_");
  EXPECT_THAT(parse_shards("gpu:g0:2(IDX:0,1),shard:g1:3(IDX:1)").per, ElementsAre(Pair(1, 3)));
}

TEST(Shards, WithoutAnIndexAreNone) {
  for (const char* text : {"", "shard:80", "gpu:a100:8", "shard:big:80", "shard:g0:", "shard:g0:x",
                           "shard:g0:-1", "((((", "shard:g99999999999:1"}) {
    EXPECT_TRUE(parse_shards(text).per.empty()) << text;
  }
}

TEST(Shards, AreAskedForByType) {
  EXPECT_EQ(shard_request({.stem = "g", .per = {{0, 40}, {1, 40}}}),
            "gres:shard:g0:40,gres:shard:g1:40");
}

TEST(Note, IsReadAsItWasWritten) {
  const Note note{.vram = 20_GiB,
                  .gpus = 2,
                  .duration_class = DurationClass::Short,
                  .is_held = true,
                  .attempt = Attempt(3),
                  .place = "n3:5,n3:6"};
  EXPECT_EQ(to_text(note), "berth vram=20GiB gpus=2 class=short held attempt=3 at=n3:5,n3:6");
  const auto read = parse_note(to_text(note) + "; job 4: asks 9 GPUs");
  ASSERT_TRUE(read && *read);
  EXPECT_EQ(**read, note);
}

TEST(Note, OfSomebodyElseIsNone) {
  for (const char* text : {"", "please be gentle", "berths 3"}) {
    const auto note = parse_note(text);
    ASSERT_TRUE(note) << text;
    EXPECT_FALSE(*note) << text;
  }
}

TEST(Note, ThatIsWrongNamesTheWord) {
  for (const char* text : {"berth vram=lots", "berth gpus=x", "berth class=quick", "berth what"}) {
    const auto note = parse_note(text);
    ASSERT_FALSE(note) << text;
    EXPECT_NE(note.error().message.find(std::string(text).substr(6)), std::string::npos);
  }
}

TEST(Script, RunsTheWordsAsTheyAre) {
  EXPECT_EQ(script_for({"echo", "it's", "$HOME"}), "#!/bin/sh\nexec 'echo' 'it'\\''s' '$HOME'\n");
}

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

}  // namespace
}  // namespace berth::slurm
