// Goal: whatever a disk does to one of a killed daemon's files, what is shown afterwards is what
// was there, or it is said what is not.
//
// Method: see damage.hpp; a few of the seeds of damage_slow_test.cpp.
#include "journal/damage.hpp"

#include <gtest/gtest.h>

namespace berth::test {
namespace {

TEST(Damaging, IsNeverTakenForContent) {
  Campaign campaign;
  DamageTable table;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Damage damage = campaign.run(seed);
    table.add(damage);
    EXPECT_NE(damage.verdict, Verdict::Wrong)
        << "seed " << seed << ", " << damage.file << ", " << damage.kind << ": " << damage.words;
  }
  std::printf("%s", table.text().c_str());
}

}  // namespace
}  // namespace berth::test
