// Goal: no GPU idles for longer than ten minutes while a job waits that fits there and delays no
// promise.
// Method: policies that let others pass, in random worlds. After every step a look without the
// policy finds which waiting jobs an idle GPU would take: no place is kept on its node for another,
// or it is known from when, and the job has left by then, at its time limit if it has one.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "engine/explain.hpp"
#include "property/lockstep.hpp"
#include "property/registered.hpp"

namespace berth::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kIdleWorlds = 6;
#else
constexpr std::uint64_t kIdleWorlds = 40;
#endif

constexpr Duration kLongest = seconds(600);

bool delays(const Hold& hold, NodeId node, Instant end, const Cluster& cluster) {
  if (hold.from != kNever && end <= hold.from) return false;
  const auto is_there = [&](GpuId gpu) { return cluster.node_of(gpu) == node; };
  return hold.placement.host == node || std::ranges::any_of(hold.placement.gpus, is_there);
}

bool has_idle_place(const ClusterView& view, const JobView& job) {
  const Ask ask = ask_of(job);
  if (ask.gpus() != GpuCount(1)) return false;
  const Instant end = ask.planned == kForever ? kNever : later(view.now(), ask.planned);
  const Trial trial = view.trial();
  const Cluster& cluster = view.cluster();
  for (std::uint32_t g = 0; g < cluster.gpus().size(); ++g) {
    const NodeId node = cluster.node_of(GpuId(g));
    const bool is_free = view.use().gpu(GpuId(g)).tenants == 0 &&
                         trial.look(GpuId(g), ask, job.id()) == Why::Fits &&
                         trial.host_room(node, ask, 1, job.id()) == Why::Fits;
    const auto is_in_the_way = [&](const Hold& hold) {
      return hold.job != job.id() && delays(hold, node, end, cluster);
    };
    if (is_free && std::ranges::none_of(view.holds(), is_in_the_way)) return true;
  }
  return false;
}

/// Neither limits of users nor GPUs that take no jobs are the policy's.
bool waits_by_policy(const ClusterView& view, const JobView& job, const Engine& engine) {
  const Why why = explain(view, job.id(), engine.refused(job.id())).why;
  return why != Why::Limit && why != Why::Drain && why != Why::Health;
}

/// How long a job waited at the longest though an idle GPU would have taken it.
Duration longest_beside_an_idle_gpu(const std::string& policy, std::uint64_t seed) {
  WorldOptions options = rough(seed);
  options.reserved = false;  // promises to people, which none of this is about
  World world(options);
  Engine engine(world.cluster(), world.engine_options(), policy_for(policy, seed));
  std::map<JobId, Instant> since;
  Duration longest{0};
  while (world.next()) {
    for (const auto& [job, from] : since) longest = std::max(longest, world.now() - from);
    world.perform(engine.step(world.now(), world.inputs()));
    std::map<JobId, Instant> still;
    const ClusterView view = engine.view();
    view.for_each_pending([&](const JobView& job) {
      if (!waits_by_policy(view, job, engine) || !has_idle_place(view, job)) return;
      const auto before = since.find(job.id());
      still.emplace(job.id(), before == since.end() ? engine.now() : before->second);
    });
    since = std::move(still);
  }
  return longest;
}

class IdleGpus : public testing::TestWithParam<std::string> {};

TEST_P(IdleGpus, AreNotKeptFromAJobThatDelaysNobody) {
  for (std::uint64_t seed = 1; seed <= kIdleWorlds && !HasFailure(); ++seed) {
    EXPECT_LE(longest_beside_an_idle_gpu(GetParam(), seed), kLongest) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(LettingOthersPass, IdleGpus,
                         testing::Values("headroom", "turns", "easy", "priority", "fifo-skip",
                                         "fair-share", "sjf", "dlas", "wfp3+easy",
                                         "fair-share+easy", "srtf+easy", "sjf+lend"),
                         policy_test_name);

/// The test can fail: nobody passes the first of a strict queue.
TEST(IdleGpusOfAStrictQueue, WaitForTheFirst) {
  Duration longest{0};
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    longest = std::max(longest, longest_beside_an_idle_gpu("fifo", seed));
  }
  EXPECT_GT(longest, kLongest);
}

}  // namespace
}  // namespace berth::test
