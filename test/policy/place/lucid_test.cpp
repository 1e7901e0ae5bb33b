// Goal: `lucid` places as the consolidation of Lucid's simulator does.
// Method: that rule again from its published description, over free GPUs per node alone, beside the
// placement on many random clusters of eight-GPU nodes; where both place a job, the nodes agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/rng.hpp"
#include "policy/place/place_on.hpp"
#include "policy/registry.hpp"

namespace berth {
namespace {

constexpr std::uint32_t kPerNode = 8;

/// GPUs by node, in the order they are taken; nothing if it cannot be placed now.
using Parts = std::map<std::uint32_t, std::uint32_t>;
std::optional<Parts> theirs(const std::vector<std::uint32_t>& free, std::uint32_t wanted) {
  std::vector<std::uint32_t> nodes(free.size());
  for (std::uint32_t n = 0; n < nodes.size(); ++n) nodes[n] = n;
  Parts parts;
  if (wanted <= kPerNode) {
    std::ranges::stable_sort(nodes, {}, [&](std::uint32_t n) { return free[n]; });
    const auto enough = [&](std::uint32_t n) { return free[n] >= wanted; };
    const auto found = std::ranges::find_if(nodes, enough);
    if (found == nodes.end()) return std::nullopt;
    parts[*found] = wanted;
    return parts;
  }
  std::ranges::stable_sort(nodes, std::ranges::greater(), [&](std::uint32_t n) { return free[n]; });
  for (const std::uint32_t n : nodes) {
    const std::uint32_t here = std::min(wanted, kPerNode);
    if (here == kPerNode ? free[n] != kPerNode : free[n] < here) return std::nullopt;
    parts[n] = here;
    wanted -= here;
    if (wanted == 0) return parts;
  }
  return std::nullopt;
}

std::optional<Parts> parts_of(const Placed& placed, const Cluster& cluster) {
  if (!placed) return std::nullopt;
  Parts parts;
  for (const GpuId gpu : placed->gpus) ++parts[cluster.node_of(gpu).value()];
  return parts;
}

TEST(LucidPlacement, IsThatOfItsSimulator) {
  Rng rng(1);
  const auto placer = (*std::ranges::find(placers(), "lucid", &PlacerEntry::name)).make();
  std::size_t spread = 0;
  std::size_t refused = 0;
  for (int turn = 0; turn < 3000; ++turn) {
    const auto nodes = static_cast<std::uint32_t>(rng.between(1, 6));
    const Cluster cluster = test::uniform(nodes, kPerNode);
    Scratch scratch{Occupancy(cluster, {}), {}};
    Trial trial(cluster, scratch);
    std::vector<std::uint32_t> free(nodes, kPerNode);
    for (std::uint32_t n = 0; n < nodes; ++n) {
      if (rng.one_in(2)) continue;
      for (std::uint32_t g = 0; g < kPerNode; ++g) {
        if (rng.one_in(2)) continue;
        Ask taken;
        taken.request.gpu = {.count = GpuCount(1), .sharing = Sharing::Alone};
        trial.put(taken, {.gpus = {GpuId(n * kPerNode + g)}, .host = NodeId(n)});
        --free[n];
      }
    }
    Ask ask;
    const auto wanted = static_cast<std::uint32_t>(rng.between(1, nodes * kPerNode));
    ask.request.gpu = {.count = GpuCount(wanted), .sharing = Sharing::Alone};
    const auto placed = parts_of(placer->place(ask, JobId(1), trial), cluster);
    ASSERT_EQ(placed, theirs(free, wanted)) << "turn " << turn << ", " << wanted << " GPUs";
    if (wanted > kPerNode) ++(placed ? spread : refused);
  }
  EXPECT_GT(spread, 100U);
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace berth
