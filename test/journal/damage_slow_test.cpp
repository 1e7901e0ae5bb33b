// Goal and method: as damage_test.cpp, with as many seeds as BERTH_DAMAGE_SEEDS says, else 1,000.
// Prints the table of doc/results/damage.md.
#include <gtest/gtest.h>

#include <cstdlib>

#include "journal/damage.hpp"

namespace berth::test {
namespace {

TEST(Damaging, AThousandTimesIsNeverTakenForContent) {
  const char* const wanted = std::getenv("BERTH_DAMAGE_SEEDS");
  const std::uint64_t seeds = wanted == nullptr ? 1000 : std::strtoull(wanted, nullptr, 10);
  Campaign campaign;
  DamageTable table;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Damage damage = campaign.run(seed);
    table.add(damage);
    EXPECT_NE(damage.verdict, Verdict::Wrong)
        << "seed " << seed << ", " << damage.file << ", " << damage.kind << ": " << damage.words;
  }
  std::printf("%s", table.text().c_str());
}

}  // namespace
}  // namespace berth::test
