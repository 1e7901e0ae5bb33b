// Goal: no other placement of the same job spans fewer switches, nor fewer nodes of one switch.
// Method: random small clusters half full of whole-GPU jobs; every set of free GPUs is tried.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {
namespace {

struct Spread {
  std::size_t switches;
  std::size_t nodes;
  auto operator<=>(const Spread&) const = default;
};

Spread spread_of(const Cluster& cluster, const std::vector<GpuId>& gpus) {
  std::set<SwitchId> switches;
  std::set<NodeId> nodes;
  for (const GpuId gpu : gpus) {
    nodes.insert(cluster.node_of(gpu));
    switches.insert(cluster.node(cluster.node_of(gpu)).switch_id);
  }
  return {switches.size(), nodes.size()};
}

/// The least spread of `wanted` of these GPUs.
Spread least_spread(const Cluster& cluster, const std::vector<GpuId>& free, std::uint32_t wanted) {
  Spread least{.switches = 99, .nodes = 99};
  for (std::uint32_t set = 0; set < 1U << free.size(); ++set) {
    if (std::popcount(set) != static_cast<int>(wanted)) continue;
    std::vector<GpuId> chosen;
    for (std::size_t i = 0; i < free.size(); ++i) {
      if ((set >> i & 1) != 0) chosen.push_back(free[i]);
    }
    least = std::min(least, spread_of(cluster, chosen));
  }
  return least;
}

TEST(Topology, SpansTheFewestSwitchesAndOfThoseTheFewestNodes) {
  const auto placer = (*std::ranges::find(placers(), "topology", &PlacerEntry::name)).make();
  int spanned = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    Cluster cluster;
    for (int s = 0; s < 3; ++s) {
      cluster.add_switch();
      for (std::int64_t n = rng.between(1, 2); n > 0; --n) {
        cluster.add_node({.name = "n", .gpus = 3, .vram = Bytes(8LL << 30)});
      }
    }
    test::Scene scene(cluster);
    std::vector<GpuId> free;
    for (std::uint32_t g = 0; g < cluster.gpus().size(); ++g) {
      if (free.size() < 10 && !rng.one_in(3)) {
        free.emplace_back(g);
      } else {
        scene.run(test::whole(1, hours(1)), {g});
      }
    }
    const Ask ask{.request = test::whole(rng.between(4, 8), hours(1)).request};
    const auto placed = placer->place(ask, JobId(1), scene.view().trial());
    const auto wanted = static_cast<std::uint32_t>(ask.gpus().raw());
    ASSERT_EQ(placed.has_value(), free.size() >= wanted) << "seed " << seed;
    if (!placed) continue;
    const Spread least = least_spread(cluster, free, wanted);
    const Spread got = spread_of(cluster, placed->gpus);
    EXPECT_EQ(got.switches, least.switches) << "seed " << seed;
    if (least.switches == 1) {
      EXPECT_EQ(got.nodes, least.nodes) << "seed " << seed;
      ++spanned;
    }
  }
  EXPECT_GT(spanned, 30);
}

}  // namespace
}  // namespace berth
