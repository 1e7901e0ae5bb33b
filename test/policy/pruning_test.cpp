// Goal: a pass may skip an ask when a smaller one was refused for capacity. That is right only if
// every placement that can place the larger ask can place the smaller one too, on the same cluster.
// Method: random half-full clusters; for random pairs that is_no_larger() orders, every registered
// placement must agree. The same clusters check what placements promise: their places fit.
#include <gtest/gtest.h>

#include <algorithm>

#include "policy/pipeline/walk.hpp"
#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {
namespace {

using namespace literals;

constexpr std::uint32_t kTypes = 3;

std::vector<Link> some_links(Rng& rng, std::uint32_t gpus) {
  std::vector<Link> links;
  for (std::uint32_t one = 0; one < gpus; ++one) {
    for (std::uint32_t other = one + 1; other < gpus; ++other) {
      if (rng.one_in(2)) continue;
      links.push_back({.one = one,
                       .other = other,
                       .nearness = Nearness::System,
                       .nvlinks = static_cast<std::uint32_t>(rng.between(0, 3))});
    }
  }
  return links;
}

Cluster random_cluster(Rng& rng) {
  Cluster cluster;
  for (std::int64_t s = rng.between(1, 2); s > 0; --s) {
    cluster.add_switch();
    for (std::int64_t n = rng.between(1, 4); n > 0; --n) {
      const auto gpus = static_cast<std::uint32_t>(rng.between(0, 4));
      cluster.add_node({.name = "n",
                        .gpus = gpus,
                        .vram = Bytes(rng.between(1, 3)) * (8_GiB).raw(),
                        .context = Bytes(rng.between(0, 1)) * (300_MiB).raw(),
                        .type = "type" + std::to_string(rng.between(0, kTypes - 1)),
                        .slots = static_cast<std::uint16_t>(rng.between(1, 4)),
                        .cpu = CpuMilli(rng.between(2, 16) * 1000),
                        .host = Bytes(rng.between(2, 16)) * (1_GiB).raw(),
                        .links = some_links(rng, gpus)});
    }
  }
  return cluster;
}

Ask random_ask(Rng& rng) {
  Ask ask;
  GpuRequest& gpu = ask.request.gpu;
  gpu.count = GpuCount(rng.one_in(10) ? 0 : rng.between(1, 7));
  gpu.vram = Bytes(rng.between(0, 10)) * (2_GiB).raw();
  gpu.milli = GpuMilli(rng.between(0, 2) * 400);
  gpu.processes = static_cast<std::int32_t>(rng.between(1, 2));
  const bool whole = gpu.count > GpuCount(0) && gpu.vram == Bytes(0);  // as ask_of() makes them
  if (whole || rng.one_in(5)) gpu.sharing = Sharing::Alone;
  if (rng.one_in(3)) gpu.types = static_cast<GpuTypes>(rng.between(1, (1 << kTypes) - 1));
  if (rng.one_in(4)) gpu.only = static_cast<GpuSet>(rng.between(1, 255));
  if (rng.one_in(2)) ask.request.cpu = CpuMilli(rng.between(0, 12) * 700);
  if (rng.one_in(2)) ask.request.host = Bytes(rng.between(0, 12)) * (600_MiB).raw();
  return ask;
}

/// Smaller in most ways, often in all.
Ask smaller_than(const Ask& ask, Rng& rng) {
  Ask small = ask;
  GpuRequest& gpu = small.request.gpu;
  if (gpu.count > GpuCount(1) && rng.one_in(2))
    gpu.count = GpuCount(rng.between(1, gpu.count.raw()));
  if (gpu.vram > 2_GiB && rng.one_in(2)) gpu.vram = 2_GiB;
  if (rng.one_in(3)) gpu.sharing = gpu.vram > Bytes(0) ? Sharing::Shared : Sharing::Alone;
  if (gpu.vram == Bytes(0) && rng.one_in(2)) {
    gpu.vram = Bytes(rng.between(1, 12)) * (2_GiB).raw();
    gpu.sharing = Sharing::Shared;
  }
  if (rng.one_in(3)) gpu.processes = 1;
  if (rng.one_in(3)) gpu.milli = GpuMilli(0);
  if (rng.one_in(3)) gpu.types = 0;
  if (rng.one_in(3)) gpu.only = 0;
  if (rng.one_in(2)) small.request.cpu = CpuMilli(small.request.cpu.raw() / 2);
  if (rng.one_in(2)) small.request.host = Bytes(small.request.host.raw() / 2);
  return small;
}

/// Puts what fits, breaks a GPU, lets foreign processes in.
void fill(Occupancy& use, const Cluster& cluster, Rng& rng) {
  for (std::uint32_t g = 0; g < cluster.gpus().size(); ++g) {
    GpuUse gpu = use.gpu(GpuId(g));
    gpu.healthy = !rng.one_in(15);
    if (rng.one_in(8)) gpu.foreign = Bytes(rng.between(1, 4)) * (700_MiB).raw();
    use.set_gpu(cluster, GpuId(g), gpu);
  }
  for (std::int64_t tries = rng.between(0, 10); tries > 0; --tries) {
    const Ask ask = random_ask(rng);
    Scratch scratch{use, {}};
    Trial trial(cluster, scratch);
    const auto& placer =
        placers()[static_cast<std::size_t>(rng.between(0, std::ssize(placers()) - 1))];
    const auto placed = placer.make()->place(ask, JobId(1), trial);
    if (placed) use.put(cluster, use.grant_for(cluster, ask, *placed));
  }
}

std::string words(const Ask& ask) {
  const GpuRequest& gpu = ask.request.gpu;
  return std::to_string(gpu.count.raw()) + " GPUs, " + std::to_string(gpu.vram.raw() >> 20) +
         " MiB, " + (ask.alone() ? "alone" : "shared") + ", milli " +
         std::to_string(gpu.milli.raw()) + ", processes " + std::to_string(gpu.processes) +
         ", types " + std::to_string(gpu.types) + ", only " + std::to_string(gpu.only) + ", cpu " +
         std::to_string(ask.request.cpu.raw()) + ", host " +
         std::to_string(ask.request.host.raw() >> 20) + " MiB";
}

TEST(Pruning, WhoeverCanPlaceTheLargerCanPlaceTheSmaller) {
  std::int64_t shown = 0;
  for (std::uint64_t seed = 1; seed <= 20000; ++seed) {
    Rng rng(seed);
    const Cluster cluster = random_cluster(rng);
    Occupancy use(cluster, {});
    fill(use, cluster, rng);
    Scratch scratch{use, {}};
    Trial trial(cluster, scratch);
    for (int n = 0; n < 8; ++n) {
      const Ask large = random_ask(rng);
      const Ask small = smaller_than(large, rng);
      if (!is_no_larger(small, large, cluster)) continue;
      for (const PlacerEntry& entry : placers()) {
        const auto placer = entry.make();
        if (!placer->place(large, JobId(1), trial)) continue;
        ++shown;
        ASSERT_TRUE(placer->place(small, JobId(1), trial))
            << "seed " << seed << ", " << entry.name << " places " << words(large) << " but not "
            << words(small);
      }
    }
  }
  EXPECT_GT(shown, 50'000) << "too few pairs were comparable and placed to show anything";
}

TEST(Pruning, IsReflexive) {
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) {
    const Cluster cluster = random_cluster(rng);
    Ask ask = random_ask(rng);
    const std::int64_t gpus = std::max<std::int64_t>(1, ask.gpus().raw());
    ask.request.cpu = ask.request.cpu * gpus;  // shares of a gang round up
    ask.request.host = ask.request.host * gpus;
    EXPECT_TRUE(is_no_larger(ask, ask, cluster)) << words(ask);
  }
}

TEST(Pruning, KnowsWhatIsNotSmaller) {
  const Cluster cluster = test::uniform(2, 4);
  Ask one;
  one.request.gpu = {.count = 2_gpus, .vram = 4_GiB};
  const auto with = [&](auto change) {
    Ask other = one;
    change(other);
    return other;
  };
  EXPECT_FALSE(is_no_larger(with([](Ask& a) { a.request.gpu.count = 3_gpus; }), one, cluster));
  EXPECT_FALSE(is_no_larger(with([](Ask& a) { a.home = std::vector{NodeId(0)}; }), one, cluster));
  EXPECT_TRUE(is_no_larger(one, with([](Ask& a) { a.home = std::vector{NodeId(0)}; }), cluster));
  EXPECT_FALSE(is_no_larger(with([](Ask& a) { a.request.gpu.vram = 5_GiB; }), one, cluster));
  EXPECT_FALSE(
      is_no_larger(with([](Ask& a) { a.request.gpu.sharing = Sharing::Alone; }), one, cluster));
  EXPECT_FALSE(is_no_larger(with([](Ask& a) { a.request.gpu.milli = GpuMilli(1); }), one, cluster));
  EXPECT_FALSE(is_no_larger(with([](Ask& a) { a.request.gpu.processes = 2; }), one, cluster));
  EXPECT_FALSE(is_no_larger(with([](Ask& a) { a.request.gpu.types = 1; }), one, cluster));
  EXPECT_FALSE(is_no_larger(with([](Ask& a) { a.request.cpu = CpuMilli(1); }), one, cluster));
  EXPECT_FALSE(is_no_larger(with([](Ask& a) { a.request.gpu.count = 0_gpus; }), one, cluster));
  EXPECT_FALSE(is_no_larger(one, with([](Ask& a) { a.request.gpu.count = 5_gpus; }), cluster))
      << "one needs a node with room for two, the other takes GPUs anywhere";
  EXPECT_TRUE(is_no_larger(one, with([](Ask& a) { a.request.gpu.count = 4_gpus; }), cluster));
}

TEST(Placements, FitAndAreWellFormed) {
  for (std::uint64_t seed = 1; seed <= 10000; ++seed) {
    Rng rng(seed);
    const Cluster cluster = random_cluster(rng);
    Occupancy use(cluster, {});
    fill(use, cluster, rng);
    Scratch scratch{use, {}};
    Trial trial(cluster, scratch);
    const Ask ask = random_ask(rng);
    const auto first_fit = std::ranges::find(placers(), "first-fit", &PlacerEntry::name)->make();
    const bool fits_a_node = first_fit->place(ask, JobId(1), trial).has_value();
    for (const PlacerEntry& entry : placers()) {
      const auto placed = entry.make()->place(ask, JobId(1), trial);
      if (!placed) continue;
      EXPECT_EQ(std::ssize(placed->gpus), ask.gpus().raw()) << entry.name;
      EXPECT_TRUE(std::ranges::is_sorted(placed->gpus));
      EXPECT_EQ(std::ranges::adjacent_find(placed->gpus), placed->gpus.end());
      EXPECT_EQ(trial.look(*placed, ask, JobId(1)), Why::Fits)
          << "seed " << seed << ", " << entry.name << ": " << words(ask);
      if (placed->gpus.empty()) continue;
      EXPECT_EQ(placed->host, cluster.node_of(placed->gpus.front()));
      if (entry.name == "count" || ask.gpus().raw() > cluster.largest_node()) continue;
      if (entry.name == "fullest" && !fits_a_node) continue;
      EXPECT_EQ(cluster.node_of(placed->gpus.back()), placed->host) << "one node holds it";
    }
  }
}

TEST(Placements, TheShortCutForWholeGpusChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 10000; ++seed) {
    Rng rng(seed);
    const Cluster cluster = random_cluster(rng);
    Occupancy use(cluster, {});
    fill(use, cluster, rng);
    Scratch scratch{use, {}};
    Trial trial(cluster, scratch);
    Ask ask;
    ask.request.gpu = {.count = GpuCount(rng.between(1, 7)), .sharing = Sharing::Alone};
    Ask same = ask;
    same.request.gpu.types = (GpuTypes{1} << kTypes) - 1;  // any type, said the long way
    for (const PlacerEntry& entry : placers()) {
      const auto placer = entry.make();
      const auto quick = placer->place(ask, JobId(1), trial);
      const auto slow = placer->place(same, JobId(1), trial);
      ASSERT_EQ(quick.has_value(), slow.has_value()) << "seed " << seed << ", " << entry.name;
      EXPECT_TRUE(!quick || *quick == *slow) << "seed " << seed << ", " << entry.name;
    }
  }
}

}  // namespace
}  // namespace berth
