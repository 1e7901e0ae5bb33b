// Goal: what the oracle of test/paper/hived_test.cpp does not show: GPUs that do not fit are passed
// over, gangs that stay are not evicted, and places are given back as they were, or refused.
// Method: one switch of two nodes of four GPUs, worked out by hand; and random operations, after
// each of which a machine that only got the places that are left would take them.
#include "policy/whole/virtual_cells.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/rng.hpp"
#include "policy/whole/cell_owners.hpp"

namespace berth {
namespace {

using Numbers = std::vector<std::uint32_t>;

Cluster two_of_four(std::uint32_t switches = 1) {
  Cluster cluster;
  for (std::uint32_t s = 0; s < switches; ++s) {
    cluster.add_switch();
    for (int n = 0; n < 2; ++n) {
      cluster.add_node({.name = "n", .gpus = 4, .vram = Bytes(8LL << 30)});
    }
  }
  return cluster;
}

/// Virtual cluster 0 owns four GPUs, 1 two pairs.
VirtualClusters four_and_pairs() {
  const ClusterCells machine(two_of_four());
  return {machine, owners_by_list(std::vector<std::int64_t>{1, 4, 2, 2, 2, 2}, machine).cells};
}

bool anything(std::span<const std::uint32_t>) { return true; }

/// The GPUs that the gang gets; nothing if it waits.
std::optional<Numbers> add(VirtualClusters& clusters, const Gang& gang,
                           const VirtualClusters::Fits& fits = anything) {
  const auto choice = clusters.choose(gang, fits);
  if (!choice) return std::nullopt;
  clusters.take(gang, *choice);
  return clusters.find(gang.id)->gpus;
}

TEST(VirtualClusters, PassOverGpusThatDoNotFit) {
  VirtualClusters clusters = four_and_pairs();
  const auto but = [](std::uint32_t bad) {
    return [bad](std::span<const std::uint32_t> gpus) {
      return std::ranges::find(gpus, bad) == gpus.end();
    };
  };
  EXPECT_EQ(add(clusters, {.id = JobId(1), .cluster = 1, .pods = {2}}, but(1)), Numbers({2, 3}));
  EXPECT_EQ(add(clusters, {.id = JobId(2), .cluster = 0, .pods = {4}}, but(5)), std::nullopt);
  EXPECT_EQ(add(clusters, {.id = JobId(3), .priority = -1, .pods = {2}}, but(4)), Numbers({6, 7}))
      << "a pair, and not the free GPU beside the one that does not fit";
}

TEST(VirtualClusters, PassOverNodesThatCannotCarryThePart) {
  VirtualClusters clusters = four_and_pairs();
  const auto fits = [](std::span<const std::uint32_t> gpus) {
    return gpus.front() >= 4 || gpus.size() < 3;  // the first node has cores for two
  };
  EXPECT_EQ(add(clusters, {.id = JobId(1), .cluster = 0, .pods = {3}}, fits), Numbers({4, 5, 6}));
  EXPECT_EQ(add(clusters, {.id = JobId(2), .priority = -1, .pods = {3}}, fits), std::nullopt);
  EXPECT_EQ(add(clusters, {.id = JobId(3), .priority = -1, .pods = {1, 1, 1}}, fits),
            Numbers({0, 1, 7}));
}

TEST(VirtualClusters, EvictNoGangThatStays) {
  VirtualClusters clusters = four_and_pairs();
  EXPECT_TRUE(clusters.put(JobId(1), {.priority = -1, .stays = true, .gpus = {0, 4}}));
  EXPECT_EQ(add(clusters, {.id = JobId(2), .cluster = 0, .pods = {4}}), std::nullopt);
  EXPECT_EQ(add(clusters, {.id = JobId(3), .cluster = 0, .pods = {3}}), Numbers({2, 3, 1}))
      << "the pair without it, and of the other what is left";
  EXPECT_NE(clusters.find(JobId(1)), nullptr);
}

TEST(VirtualClusters, RefuseAPlaceThatIsNotFree) {
  VirtualClusters clusters = four_and_pairs();
  const GangPlace pair{.cluster = 1, .gpus = {0, 1}, .virtual_gpus = {4, 5}};
  EXPECT_TRUE(clusters.put(JobId(1), pair));
  EXPECT_FALSE(clusters.put(JobId(1), pair)) << "it has one";
  EXPECT_FALSE(clusters.put(JobId(2), pair));
  const auto refused = std::to_array<GangPlace>({
      {.cluster = 2, .gpus = {4}, .virtual_gpus = {0}},
      {.cluster = 0, .gpus = {8}, .virtual_gpus = {0}},
      {.cluster = 0, .gpus = {4}, .virtual_gpus = {8}},
      {.cluster = 0, .gpus = {4}, .virtual_gpus = {6}},  // of another virtual cluster
      {.cluster = 0, .gpus = {4}, .virtual_gpus = {}},
      {.cluster = 0, .gpus = {4, 4}, .virtual_gpus = {0, 1}},
      {.cluster = 0, .gpus = {4, 2}, .virtual_gpus = {0, 1}},  // a virtual pair on two nodes
      {.cluster = 0, .gpus = {2}, .virtual_gpus = {0}},        // of a node that is split
      {.cluster = 1, .gpus = {2, 4}, .virtual_gpus = {6, 7}},
      {.priority = -1, .gpus = {1}},
      {.priority = -1, .gpus = {2}, .virtual_gpus = {0}},
  });
  const VirtualClusters before = clusters;
  for (const GangPlace& place : refused) EXPECT_FALSE(clusters.put(JobId(3), place));
  EXPECT_EQ(clusters.gangs(), before.gangs());
  EXPECT_TRUE(clusters.put(JobId(3), {.cluster = 1, .gpus = {3, 2}, .virtual_gpus = {6, 7}}));
  EXPECT_TRUE(clusters.put(JobId(4), {.cluster = 0, .gpus = {7, 5}, .virtual_gpus = {0, 2}}));
}

/// Whatever came and went, no gang has the GPUs of another, guaranteed gangs are where a virtual
/// cluster's cells can be, and one that owns room has it as soon as it asks.
TEST(VirtualClusters, KeepWhatIsOwnedFree) {
  int evictions = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed);
    const ClusterCells machine(two_of_four(2));
    const std::vector<std::int64_t> owned = {1, 8, 2, 4, 2, 2, 3, 1, 3, 1};
    VirtualClusters clusters(machine, owners_by_list(owned, machine).cells);
    for (std::uint64_t n = 1; n <= 60; ++n) {
      if (rng.one_in(3)) {
        clusters.remove(JobId(static_cast<std::uint64_t>(rng.between(1, 60))));
      } else {
        Gang gang{.id = JobId(n),
                  .cluster = static_cast<std::uint32_t>(rng.between(0, 2)),
                  .priority = static_cast<std::int32_t>(rng.between(-1, 2)),
                  .pods = {}};
        gang.pods.assign(static_cast<std::size_t>(rng.between(1, 2)),
                         static_cast<std::uint32_t>(rng.between(1, 4)));
        const auto choice = clusters.choose(gang, anything);
        if (choice) clusters.take(gang, *choice);
        if (choice && !choice->evicted.empty()) ++evictions;
      }
      VirtualClusters again(machine, owners_by_list(owned, machine).cells);
      for (const auto& [id, place] : clusters.gangs()) {
        ASSERT_TRUE(again.put(id, place)) << "seed " << seed << ", job " << id.value();
      }
    }
    for (const auto& [id, place] : std::map(clusters.gangs())) {
      if (!place.is_opportunistic()) clusters.remove(id);
    }
    ASSERT_TRUE(add(clusters, {.id = JobId(101), .cluster = 0, .pods = {4, 4}}));
    ASSERT_TRUE(add(clusters, {.id = JobId(102), .cluster = 1, .pods = {4}}));
    ASSERT_TRUE(add(clusters, {.id = JobId(103), .cluster = 1, .pods = {2}}));
    ASSERT_TRUE(add(clusters, {.id = JobId(104), .cluster = 2, .pods = {1, 1}}));
  }
  EXPECT_GT(evictions, 60);
}

}  // namespace
}  // namespace berth
