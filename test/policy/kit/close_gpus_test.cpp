// Goal: the GPUs that are chosen are the closest there are, what is left is as close as can be, and
// where nothing is known nothing changes.
// Method: random links on a node of eight GPUs; every set is tried.
#include "policy/kit/close_gpus.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "core/base/rng.hpp"
#include "policy/place/place_on.hpp"

namespace berth {
namespace {

Cluster node_with(std::uint32_t gpus, std::vector<Link> links) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node(
      {.name = "n", .gpus = gpus, .vram = Bytes(24LL << 30), .links = std::move(links)});
  return cluster;
}

std::vector<GpuId> all_of(const Cluster& cluster) {
  std::vector<GpuId> gpus;
  for (const GpuId gpu : cluster.gpu_ids()) gpus.push_back(gpu);
  return gpus;
}

std::vector<Link> random_links(Rng& rng) {
  std::vector<Link> links;
  for (std::uint32_t one = 0; one < 8; ++one) {
    for (std::uint32_t other = one + 1; other < 8; ++other) {
      if (rng.one_in(3)) continue;
      links.push_back(
          {.one = one,
           .other = other,
           .nearness = static_cast<Nearness>(rng.between(0, 5)),
           .nvlinks = static_cast<std::uint32_t>(rng.one_in(2) ? rng.between(1, 4) : 0)});
    }
  }
  return links;
}

TEST(CloseGpus, NoOtherSetIsCloser) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    const Cluster cluster = node_with(8, random_links(rng));
    const std::vector<GpuId> open = all_of(cluster);
    const auto count = static_cast<std::uint32_t>(rng.between(1, 7));
    const auto chosen = closest_of(cluster, {}, open, count);
    ASSERT_EQ(chosen.size(), count);
    for (std::uint32_t set = 0; set < 256; ++set) {
      if (std::popcount(set) != static_cast<int>(count)) continue;
      std::vector<GpuId> other;
      for (std::uint32_t g = 0; g < 8; ++g) {
        if ((set >> g & 1) != 0) other.emplace_back(g);
      }
      ASSERT_LE(closeness_of(cluster, chosen), closeness_of(cluster, other)) << "seed " << seed;
    }
  }
}

TEST(CloseGpus, ThoseThatAreSureCount) {
  const Cluster cluster =
      node_with(4, {{.one = 0, .other = 1, .nvlinks = 4}, {.one = 2, .other = 3, .nvlinks = 1}});
  const std::vector<GpuId> sure = {GpuId(3)};
  const std::vector<GpuId> open = {GpuId(0), GpuId(1), GpuId(2)};
  EXPECT_EQ(closest_of(cluster, sure, open, 1), std::vector{GpuId(2)});
}

TEST(CloseGpus, OfSixteenTheSearchIsWhole) {
  std::vector<Link> links;
  for (std::uint32_t one = 0; one < 16; ++one) {  // two rings of neighbours, the last ones closest
    for (std::uint32_t other = one + 1; other < 16; ++other) {
      links.push_back({.one = one,
                       .other = other,
                       .nearness = one / 8 == other / 8 ? Nearness::MemoryNode : Nearness::System,
                       .nvlinks = one >= 8 ? 1U : 0U});
    }
  }
  const Cluster cluster = node_with(16, std::move(links));
  const auto chosen = closest_of(cluster, {}, all_of(cluster), 8);
  EXPECT_EQ(chosen.front(), GpuId(8));
  EXPECT_EQ(chosen.back(), GpuId(15));
}

TEST(CloseGpus, WithoutLinksTheFirstAreTaken) {
  const Cluster cluster = node_with(8, {});
  EXPECT_FALSE(cluster.is_uneven(NodeId(0)));
  EXPECT_EQ(closest_of(cluster, {}, all_of(cluster), 2), (std::vector{GpuId(0), GpuId(1)}));
}

/// Slices of GPUs, so that tenants and memory left come first.
TEST(CloseGpus, LeastSharedComesFirst) {
  test::Scene scene(node_with(4, {{.one = 0, .other = 1, .nvlinks = 4}}));
  JobSpec slice;
  slice.request.gpu = {.count = GpuCount(1), .vram = Bytes(4LL << 30)};
  scene.run(slice, {0});
  slice.request.gpu.count = GpuCount(2);
  const auto placed = test::place_on(scene, "least-shared", slice);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->gpus, (std::vector{GpuId(1), GpuId(2)})) << "0 has a tenant";
}

TEST(CloseGpus, TheTopologyComesBeforeTheTightestNode) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "tight", .gpus = 2, .vram = Bytes(24LL << 30)});
  cluster.add_node({.name = "linked",
                    .gpus = 4,
                    .vram = Bytes(24LL << 30),
                    .links = {{.one = 1, .other = 3, .nvlinks = 2}}});
  const test::Scene scene(cluster);
  const auto placed = test::place_on(scene, "topology", test::gang(2, 0));
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->gpus, (std::vector{GpuId(3), GpuId(5)}));
}

}  // namespace
}  // namespace berth
