// Goal: policies that set numbers of GPUs keep the invariants where jobs are elastic, and only jobs
// that save themselves change their number.
// Method: random worlds with faults and delays, in lockstep with engines that came there otherwise;
// and without faults, the number of GPUs of each job from start to start.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "property/lockstep.hpp"
#include "property/registered.hpp"

namespace berth::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSizedWorlds = 8;
#else
constexpr std::uint64_t kSizedWorlds = 40;
#endif

class EverySize : public testing::TestWithParam<std::string> {
 protected:
  static WorldOptions elastic(WorldOptions options) {
    options.elastic = options.saving = options.deadlines = true;
    return options;
  }

  /// Returns: how often jobs began to run with another number than before.
  std::size_t resized(std::uint64_t seed) {
    std::size_t resized = 0;
    World world(elastic({.seed = seed, .delays = seed % 3 == 0, .whole_gpus = seed % 2 == 0}));
    Engine engine(world.cluster(), world.engine_options(), policy_for(GetParam(), seed));
    std::map<JobId, GpuCount> gpus;
    while (world.next()) {
      const Effects& effects = engine.step(world.now(), world.inputs());
      for (const JobId id : engine.view().running()) {
        const Job& job = *engine.view().find(id);
        const auto [known, is_new] = gpus.try_emplace(id, job.grant.gpus());
        if (is_new || known->second == job.grant.gpus()) continue;
        EXPECT_TRUE(saves_itself(job)) << GetParam() << ", seed " << seed << ", " << id.value();
        known->second = job.grant.gpus();
        ++resized;
      }
      world.perform(effects);
    }
    EXPECT_TRUE(world.all_finished()) << GetParam() << ", seed " << seed;
    return resized;
  }
};

TEST_P(EverySize, KeepsTheInvariantsAndDecidesTheSameHoweverItGotThere) {
  for (std::uint64_t seed = 1; seed <= kSizedWorlds; ++seed) {
    SCOPED_TRACE(GetParam() + ", seed " + std::to_string(seed));
    Lockstep(GetParam(), elastic(rough(seed))).run();
    if (HasFatalFailure()) return;
  }
}

TEST_P(EverySize, OnlyJobsThatSaveThemselvesChangeTheirNumber) {
  std::size_t changes = 0;
  for (std::uint64_t seed = 1; seed <= kSizedWorlds; ++seed) changes += resized(seed);
  EXPECT_GT(changes, 2 * kSizedWorlds);
}

INSTANTIATE_TEST_SUITE_P(Policies, EverySize,
                         testing::Values("afs", "optimus", "max-min-gpus", "edf", "elasticflow",
                                         "afs-p", "afs-p:turn=5m", "edf:apart=5m",
                                         "elasticflow:apart=5m:slot=1m"),
                         policy_test_name);

}  // namespace
}  // namespace berth::test
