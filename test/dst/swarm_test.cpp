// Goal: whatever dies, fails, comes late or twice, no promise is broken and
// every job ends. Method: a few hundred seeds of the simulation
// (simulation.hpp), each a cluster, a policy, jobs and trouble of its own.
// BERTH_DST_SEED=N runs that one alone.
#include "dst/swarm.hpp"

#include "support/environment.hpp"

namespace berth::dst {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr std::uint64_t kSeeds = 130;  ///< Of which each kind of trouble comes up in one.
#else
constexpr std::uint64_t kSeeds = 250;
#endif

TEST(Swarm, KeepsItsPromises) {
  const std::uint64_t one = test::number_of("BERTH_DST_SEED", 0);
  if (one != 0) {
    run_swarm(one, 1);
    return;
  }
  auto seen = run_swarm(1, kSeeds);
  if (HasFailure()) return;
  for (const char* what : {"kill",
                           "power loss",
                           "restart",
                           "refused step",
                           "failed sync",
                           "lost node",
                           "broken GPU",
                           "silent GPU",
                           "foreign use",
                           "adopted",
                           "failed start",
                           "failed launch",
                           "old news",
                           "cancel",
                           "launch",
                           "stop",
                           "finish",
                           "no room",
                           "part of a snapshot",
                           "failed snapshot",
                           "failed suspension",
                           "left a lost GPU",
                           "told to save"}) {
    EXPECT_GT(seen[what], 0) << what << " came up in no seed";
  }
}

TEST(Swarm, FollowsFromTheSeedAlone) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Result one = simulate(seed);
    const Result other = simulate(seed);
    EXPECT_EQ(one.story, other.story);
    EXPECT_EQ(one.seen, other.seen);
  }
}

}  // namespace
}  // namespace berth::dst
