// The central property of policies_test.cpp, for every order with every backfill.
//
// Method: as there, in BERTH_PROPERTY_WORLDS other worlds, from BERTH_PROPERTY_FIRST on.
#include <gtest/gtest.h>

#include "policy/backfills.hpp"
#include "property/lockstep.hpp"
#include "property/registered.hpp"
#include "support/environment.hpp"

namespace berth::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr std::uint64_t kComposedWorlds = 10;
#else
constexpr std::uint64_t kComposedWorlds = 150;
#endif

/// Those that there are: some orders refuse some backfills.
std::vector<std::string> compositions() {
  std::vector<std::string> all;
  for (const PolicyEntry& entry : policies()) {
    for (const BackfillEntry& backfill : backfills()) {
      std::string name = std::string(entry.name) + "+" + std::string(backfill.name);
      if (choose(name)) all.push_back(std::move(name));
    }
  }
  return all;
}

class EveryComposition : public testing::TestWithParam<std::string> {};

TEST_P(EveryComposition, DecidesTheSameHoweverItGotThere) {
  const std::uint64_t first = number_of("BERTH_PROPERTY_FIRST", 10'000);
  const std::uint64_t worlds = number_of("BERTH_PROPERTY_WORLDS", kComposedWorlds);
  for (std::uint64_t seed = first; seed < first + worlds; ++seed) {
    SCOPED_TRACE(GetParam() + " with " + std::string(place_for(GetParam(), seed)) + ", seed " +
                 std::to_string(seed));
    Lockstep(GetParam(), seed).run();
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryComposition, testing::ValuesIn(compositions()),
                         policy_test_name);

}  // namespace
}  // namespace berth::test
