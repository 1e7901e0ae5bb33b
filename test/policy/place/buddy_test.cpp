// Goal: no smaller aligned cell has room for the job, and no cell of that size with room is fuller.
// Method: random small clusters half full of whole-GPU jobs; all cells are counted, by arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <tuple>

#include "policy/place/place_on.hpp"

namespace berth {
namespace {

struct Window {
  std::uint32_t first;
  std::uint32_t gpus;

  bool holds(const std::vector<GpuId>& gpus_of_job) const {
    return std::ranges::all_of(
        gpus_of_job, [&](GpuId gpu) { return gpu.value() >= first && gpu.value() < first + gpus; });
  }
};

/// Aligned runs within nodes, and of whole nodes within switches; all nodes have as many GPUs.
std::vector<Window> windows_of(const Cluster& cluster) {
  std::vector<Window> windows;
  const std::uint32_t in_node = cluster.largest_node();
  const std::uint32_t even = in_node & -in_node;
  for (const NodeSpec& node : cluster.nodes()) {
    for (std::uint32_t size = 1; size <= even; size *= 2) {
      for (std::uint32_t at = 0; at < in_node; at += size) {
        windows.push_back({node.first_gpu.value() + at, size});
      }
    }
    if (even < in_node) windows.push_back({node.first_gpu.value(), in_node});
  }
  for (std::uint32_t s = 0; s < cluster.switches(); ++s) {
    const auto nodes = cluster.nodes_of(SwitchId(s));
    for (std::size_t size = 2; size <= nodes.size(); size *= 2) {
      for (std::size_t at = 0; at + size <= nodes.size(); at += size) {
        windows.push_back(
            {nodes[at].first_gpu.value(), static_cast<std::uint32_t>(size) * in_node});
      }
    }
  }
  return windows;
}

TEST(Buddy, TakesTheSmallestCellAndOfTheseTheFullest) {
  int on_a_part = 0;
  int on_nodes = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Rng rng(seed);
    Cluster cluster;
    const auto gpus = static_cast<std::uint32_t>(rng.between(1, 8));
    for (int s = 0; s < 2; ++s) {
      cluster.add_switch();
      for (std::int64_t n = rng.between(1, 5); n > 0; --n) {
        cluster.add_node({.name = "n", .gpus = gpus, .vram = Bytes(8LL << 30)});
      }
    }
    test::Scene scene(cluster);
    std::set<std::uint32_t> free;
    for (std::uint32_t g = 0; g < cluster.gpus().size(); ++g) {
      if (rng.one_in(2)) {
        free.insert(g);
      } else {
        scene.run(test::whole(1, hours(1)), {g});
      }
    }
    const auto wanted = static_cast<std::uint32_t>(rng.between(1, gpus + 4));
    const auto free_in = [&](const Window& window) {
      return static_cast<std::uint32_t>(std::ranges::distance(
          free.lower_bound(window.first), free.lower_bound(window.first + window.gpus)));
    };
    std::optional<std::pair<std::uint32_t, std::uint32_t>> best;  // size, and what is free
    const std::vector<Window> windows = windows_of(cluster);
    for (const Window& window : windows) {
      const bool is_near = wanted > gpus || window.gpus <= gpus;
      if (!is_near || free_in(window) < wanted) continue;
      const std::pair found(window.gpus, free_in(window));
      if (!best || found < *best) best = found;
    }
    const auto placed = test::place_on(scene, "buddy", test::gang(wanted, 0));
    const bool is_anywhere = wanted > gpus && free.size() >= wanted;
    ASSERT_EQ(placed.has_value(), best.has_value() || is_anywhere) << "seed " << seed;
    if (!placed) continue;
    EXPECT_EQ(placed->gpus.size(), wanted) << "seed " << seed;
    if (!best) continue;
    const bool is_in_one = std::ranges::any_of(windows, [&](const Window& window) {
      return window.gpus == best->first && free_in(window) == best->second &&
             window.holds(placed->gpus);
    });
    EXPECT_TRUE(is_in_one) << "seed " << seed;
    if (best->first < gpus) ++on_a_part;
    if (best->first > gpus) ++on_nodes;
  }
  EXPECT_GT(on_a_part, 50);
  EXPECT_GT(on_nodes, 20);
}

/// What is left of the cells that are split is as large as it can be.
TEST(Buddy, LeavesWholeWhatItCan) {
  Cluster cluster = test::largest_nodes(1);
  test::Scene scene(cluster);
  scene.run(test::whole(1, hours(1)), {1});
  const auto placed = test::place_on(scene, "buddy", test::gang(5, 0));
  ASSERT_TRUE(placed);
  const std::vector<GpuId> wanted = {GpuId(0), GpuId(4), GpuId(5), GpuId(6), GpuId(7)};
  EXPECT_EQ(placed->gpus, wanted) << "a four, and of the other the pair that is split";
}

}  // namespace
}  // namespace berth
