// Policies whose passes are cut: what is left of a pass goes on in a later one.
//
// Method: the random worlds of policies_test.cpp, in which a pass of conservative looks at little,
// from one job to most of those that wait, and so is cut in most worlds.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "property/lockstep.hpp"
#include "property/registered.hpp"
#include "support/environment.hpp"

namespace berth::test {
namespace {

/// ./check --full asks for more.
std::uint64_t cut_worlds() { return number_of("BERTH_WORLDS", 100); }

/// From one job in a pass to most of them.
std::int64_t most_looks(std::uint64_t seed) {
  constexpr auto kBounds = std::to_array<std::int64_t>({1, 20, 5, 60});
  return kBounds[seed % kBounds.size()];
}

/// Every order that conservative takes.
std::vector<std::string> cut_policies() {
  std::vector<std::string> all;
  for (const PolicyEntry& entry : policies()) {
    std::string name = std::string(entry.name) + "+conservative";
    if (choose(name)) all.push_back(std::move(name));
  }
  return all;
}

class CutPasses : public testing::TestWithParam<std::string> {
 protected:
  std::string where(std::uint64_t seed) const {
    return GetParam() + " with " + std::string(place_for(GetParam(), seed)) + ", seed " +
           std::to_string(seed) + ", " + std::to_string(most_looks(seed)) + " looks";
  }
};

TEST_P(CutPasses, KeepTheInvariantsAndDecideTheSameHoweverTheyGotThere) {
  std::uint64_t were_cut = 0;
  for (std::uint64_t seed = 1; seed <= cut_worlds(); ++seed) {
    SCOPED_TRACE(where(seed));
    Lockstep lockstep(GetParam(), seed, most_looks(seed));
    lockstep.run();
    if (HasFatalFailure()) return;
    if (lockstep.cut() > 0) ++were_cut;
  }
  EXPECT_GT(were_cut, cut_worlds() / 2) << "worlds in which a pass was cut";
}

TEST_P(CutPasses, DecideNothingTwice) {
  for (std::uint64_t seed = 1; seed <= cut_worlds(); ++seed) {
    World world(rough(seed));
    auto policy = policy_for(GetParam(), seed, {.most_looks = most_looks(seed)});
    Engine engine(world.cluster(), world.engine_options(), std::move(policy));
    while (world.next()) {
      world.perform(engine.step(world.now(), world.inputs()));
      const Effects& again = engine.step(world.now(), {});
      ASSERT_TRUE(again.list.empty()) << where(seed) << " at " << micros(world.now());
    }
    ASSERT_TRUE(world.all_finished()) << where(seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Conservative, CutPasses, testing::ValuesIn(cut_policies()),
                         policy_test_name);

}  // namespace
}  // namespace berth::test
