// Goal and method as in swarm_test.cpp, with other seeds and many more:
// BERTH_DST_SEEDS of them, from BERTH_DST_FIRST on.
#include "dst/swarm.hpp"
#include "support/environment.hpp"

namespace berth::dst {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr std::uint64_t kSeeds = 500;
#else
constexpr std::uint64_t kSeeds = 3'000;
#endif

TEST(SwarmSlow, KeepsItsPromises) {
  auto seen = run_swarm(test::number_of("BERTH_DST_FIRST", 100'000),
                        test::number_of("BERTH_DST_SEEDS", kSeeds));
  EXPECT_GT(seen["task"], 0);
}

}  // namespace
}  // namespace berth::dst
