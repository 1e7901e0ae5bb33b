// Goal: sums and the index of vacant GPUs stay true whatever comes and goes; a trial leaves nothing
// behind.
// Method: random grants, measurements and trials against sums computed again.
#include "core/occupancy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/base/rng.hpp"
#include "core/ledger.hpp"

namespace berth {
namespace {

using namespace literals;

Cluster some_cluster() {
  Cluster cluster;
  cluster.add_switch();
  for (int n = 0; n < 70; ++n) {  // more nodes than one word of a NodeSet holds
    cluster.add_node({.name = "n",
                      .gpus = static_cast<std::uint32_t>(n % 4),
                      .vram = 24_GiB,
                      .cpu = CpuMilli(16'000),
                      .host = 64_GiB});
  }
  return cluster;
}

/// A grant of 1 to 6 GPUs anywhere, of a size that may or may not fit.
Grant random_grant(Rng& rng, const Cluster& cluster, const Occupancy& use) {
  Ask ask;
  ask.request.gpu.count = GpuCount(rng.between(1, 6));
  ask.request.gpu.vram = rng.one_in(3) ? Bytes(0) : Bytes(rng.between(1, 24)) * (1_GiB).raw();
  ask.request.gpu.milli = GpuMilli(rng.between(0, 1000));
  if (ask.request.gpu.vram == Bytes(0)) ask.request.gpu.sharing = Sharing::Alone;
  ask.request.cpu = CpuMilli(rng.between(0, 5000));
  ask.request.host = Bytes(rng.between(0, 1000));
  Placement placement;
  while (std::ssize(placement.gpus) < ask.gpus().raw()) {
    const GpuId gpu(static_cast<std::uint32_t>(rng.between(0, cluster.gpu_count().raw() - 1)));
    if (std::ranges::find(placement.gpus, gpu) == placement.gpus.end()) {
      placement.gpus.push_back(gpu);
    }
  }
  std::ranges::sort(placement.gpus);
  placement.host = cluster.node_of(placement.gpus.front());
  return use.grant_for(cluster, ask, placement);
}

/// Changes one GPU's measurements or health.
GpuUse random_change(Rng& rng, GpuUse use) {
  use.foreign = rng.one_in(2) ? Bytes(0) : Bytes(rng.between(0, 3)) * (512_MiB).raw();
  use.healthy = !rng.one_in(4);
  return use;
}

/// The least amount of which more is refused by every GPU of the node for want of room.
Bytes most_room(const Cluster& cluster, const Occupancy& use, const NodeSpec& node) {
  Bytes most(-1);
  for (const GpuId gpu : node.gpu_ids()) {
    const GpuUse& now = use.gpu(gpu);
    if (!is_usable(now)) return kMostBytes;
    if (now.alone == 0)
      most = std::max(most, cluster.gpu(gpu).capacity - now.foreign - now.charged);
  }
  return most;
}

/// The index, from scratch.
void expect_index_is_true(const Cluster& cluster, const Occupancy& use) {
  std::int64_t all = 0;
  for (std::uint32_t n = 0; n < cluster.nodes().size(); ++n) {
    const NodeSpec& node = cluster.node(NodeId(n));
    std::uint32_t vacant = 0;
    for (const GpuId gpu : node.gpu_ids()) {
      vacant += is_vacant(use.admission(), cluster.gpu(gpu), use.gpu(gpu)) ? 1 : 0;
    }
    all += vacant;
    ASSERT_EQ(use.node(NodeId(n)).vacant, vacant);
    ASSERT_EQ(use.room_on(NodeId(n)), most_room(cluster, use, node));
    for (std::uint32_t k = 0; k <= cluster.largest_node(); ++k) {
      const bool listed = use.nodes_with(k).next(NodeId(n), NodeId(n + 1)) == NodeId(n);
      ASSERT_EQ(listed, k == vacant) << "node " << n << " under " << k;
    }
  }
  EXPECT_EQ(use.vacant(), GpuCount(all));
  const NodeId end(static_cast<std::uint32_t>(cluster.nodes().size()));
  for (const Bytes room : {Bytes(0), 1_GiB, 12_GiB, 24_GiB, kMostBytes}) {
    NodeId next = end;  // the nearest node with so much, from the last node on
    for (std::uint32_t n = end.value(); n-- > 0;) {
      if (use.room_on(NodeId(n)) >= room) next = NodeId(n);
      ASSERT_EQ(use.next_with_room(room, NodeId(n), end), next) << room.raw() << " from " << n;
    }
  }
}

TEST(Occupancy, StartsVacant) {
  const Cluster cluster = some_cluster();
  const Occupancy use(cluster, {});
  EXPECT_EQ(use.vacant(), cluster.gpu_count());
  expect_index_is_true(cluster, use);
}

TEST(Occupancy, WhatComesAndGoesLeavesNothing) {
  const Cluster cluster = some_cluster();
  const Occupancy empty(cluster, {});
  Occupancy use = empty;
  Rng rng(1);
  std::vector<Grant> held;
  for (int i = 0; i < 2000; ++i) {
    if (!held.empty() && rng.one_in(2)) {
      const auto at = rng.between(0, std::ssize(held) - 1);
      use.take(cluster, held[static_cast<std::size_t>(at)]);
      held.erase(held.begin() + at);
    } else {
      held.push_back(random_grant(rng, cluster, use));
      use.put(cluster, held.back());
    }
    if (i % 50 == 0) expect_index_is_true(cluster, use);
  }
  std::map<GpuId, Bytes> charges;
  for (const Grant& grant : held) {
    for (const Share& share : grant.shares) charges[share.gpu] += share.charge;
  }
  for (const auto& [gpu, charged] : charges) EXPECT_EQ(use.gpu(gpu).charged, charged);
  for (const Grant& grant : held) use.take(cluster, grant);
  EXPECT_EQ(use, empty);
}

TEST(Occupancy, MeasurementsMoveTheIndex) {
  const Cluster cluster = some_cluster();
  Occupancy use(cluster, {});
  Rng rng(2);
  for (int i = 0; i < 500; ++i) {
    const GpuId gpu(static_cast<std::uint32_t>(rng.between(0, cluster.gpu_count().raw() - 1)));
    use.set_gpu(cluster, gpu, random_change(rng, use.gpu(gpu)));
    if (i % 20 == 0) expect_index_is_true(cluster, use);
  }
  use.set_admission(cluster, {.mode = AdmissionMode::None});
  expect_index_is_true(cluster, use);
  use.set_admission(cluster, {.guard_floor = 2_GiB});
  expect_index_is_true(cluster, use);
}

TEST(Occupancy, NoGpuHasRoomForMoreThanItsNode) {
  const Cluster cluster = some_cluster();
  Occupancy use(cluster, {});
  Rng rng(3);
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    use.put(cluster, random_grant(rng, cluster, use));
    const GpuId gpu(static_cast<std::uint32_t>(rng.between(0, cluster.gpu_count().raw() - 1)));
    use.set_gpu(cluster, gpu, random_change(rng, use.gpu(gpu)));
    Ask ask;
    ask.request.gpu.vram = Bytes(rng.between(1, 24)) * (1_GiB).raw();
    if (ask.request.gpu.vram <= use.room_on(cluster.node_of(gpu))) continue;
    ++refused;
    for (const GpuId each : cluster.node(cluster.node_of(gpu)).gpu_ids()) {
      ASSERT_TRUE(is_usable(use.gpu(each)));
      ASSERT_FALSE(admits(use.admission(), cluster.gpu(each), use.gpu(each), ask));
    }
  }
  EXPECT_GT(refused, 50);
}

TEST(Occupancy, SetNodeLeavesTheIndexAlone) {
  const Cluster cluster = some_cluster();
  Occupancy use(cluster, {});
  use.set_node(NodeId(3), {.cpu = CpuMilli(1), .host = Bytes(2), .vacant = 77, .healthy = false});
  EXPECT_EQ(use.node(NodeId(3)).cpu, CpuMilli(1));
  EXPECT_FALSE(use.node(NodeId(3)).healthy);
  expect_index_is_true(cluster, use);
}

TEST(Occupancy, RefusesToTakeWhatWasNotPut) {
  const Cluster cluster = some_cluster();
  Occupancy use(cluster, {});
  const Grant grant{.shares = {{GpuId(0), 1_GiB}}, .host = cluster.node_of(GpuId(0))};
  EXPECT_DEATH(use.take(cluster, grant), "broken invariant");
}

TEST(NodeSet, FindsTheNextMember) {
  NodeSet set(200);
  for (const std::uint32_t id : {0U, 63U, 64U, 130U, 199U}) set.insert(NodeId(id));
  EXPECT_EQ(set.next(NodeId(0), NodeId(200)), NodeId(0));
  EXPECT_EQ(set.next(NodeId(1), NodeId(200)), NodeId(63));
  EXPECT_EQ(set.next(NodeId(64), NodeId(200)), NodeId(64));
  EXPECT_EQ(set.next(NodeId(65), NodeId(130)), NodeId(130)) << "the end, not a member";
  EXPECT_EQ(set.next(NodeId(131), NodeId(199)), NodeId(199));
  set.erase(NodeId(130));
  EXPECT_EQ(set.next(NodeId(65), NodeId(200)), NodeId(199));
  EXPECT_EQ(set.next(NodeId(200), NodeId(200)), NodeId(200));
}

TEST(Trial, LeavesTheLedgerAsItWas) {
  const Cluster cluster = some_cluster();
  Ledger ledger(cluster, {});
  Rng rng(3);
  std::vector<Grant> held;
  for (int i = 0; i < 30; ++i) {
    held.push_back(random_grant(rng, cluster, ledger.use()));
    ledger.put(cluster, held.back());
  }
  const Occupancy before = ledger.use();
  for (int round = 0; round < 100; ++round) {
    Trial trial = ledger.trial(cluster);
    EXPECT_EQ(trial.use(), before) << "the last trial left something behind";
    std::vector<Trial::Mark> marks;
    std::vector<Occupancy> states;
    for (int step = 0; step < 20; ++step) {
      marks.push_back(trial.mark());
      states.push_back(trial.use());
      trial.put(random_grant(rng, cluster, trial.use()));
      if (step < std::ssize(held) && rng.one_in(2)) {
        trial.take(held[static_cast<std::size_t>(step)]);
      }
    }
    for (int back = 0; back < 3; ++back) {
      const auto to = static_cast<std::size_t>(rng.between(0, std::ssize(marks) - 1));
      trial.rollback(marks[to]);
      EXPECT_EQ(trial.use(), states[to]);
      marks.resize(to + 1);
      states.erase(states.begin() + std::ssize(marks), states.end());
    }
    EXPECT_EQ(ledger.use(), before);
  }
}

TEST(Trial, SeesWhatTheLedgerDoesMeanwhile) {
  const Cluster cluster = some_cluster();
  Ledger ledger(cluster, {});
  Rng rng(4);
  const Grant grant = random_grant(rng, cluster, ledger.use());
  ledger.put(cluster, grant);
  EXPECT_EQ(ledger.trial(cluster).use(), ledger.use());
  ledger.take(cluster, grant);
  ledger.set_node(NodeId(1), {.healthy = false});
  ledger.set_gpu(cluster, GpuId(0), {.foreign = 1_GiB});
  ledger.set_admission(cluster, {.guard_floor = 1_GiB});
  EXPECT_EQ(ledger.trial(cluster).use(), ledger.use());
}

TEST(Ledger, RoomGrowsWithEveryReleaseAndNoGrant) {
  const Cluster cluster = some_cluster();
  Ledger ledger(cluster, {});
  Rng rng(5);
  const Grant grant = random_grant(rng, cluster, ledger.use());
  const auto before = ledger.room_version();
  ledger.put(cluster, grant);
  EXPECT_EQ(ledger.room_version(), before);
  ledger.take(cluster, grant);
  EXPECT_GT(ledger.room_version(), before);
}

}  // namespace
}  // namespace berth
