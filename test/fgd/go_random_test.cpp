// Goal: GoRandom draws what Go's math/rand draws.
// Method: numbers that Go's own documentation and tour show for known seeds.
#include "fgd/go_random.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::fgd {
namespace {

using testing::ElementsAre;

/// What programs printed for years that drew rand.Intn(100) and never seeded: the seed was 1.
TEST(GoRandom, DrawsTheNumbersOfAnUnseededProgram) {
  GoRandom random(1);
  std::vector<std::int32_t> drawn;
  for (int i = 0; i < 10; ++i) drawn.push_back(random.below(100));
  EXPECT_THAT(drawn, ElementsAre(81, 87, 47, 59, 81, 18, 25, 40, 56, 0));
}

/// "Go by Example: Random Numbers", where the seed is 42.
TEST(GoRandom, DrawsTheNumbersOfSeed42) {
  GoRandom random(42);
  EXPECT_EQ(random.below(100), 5);
  EXPECT_EQ(random.below(100), 87);
}

TEST(GoRandom, ShufflesAndPermutesWithoutLosingAny) {
  GoRandom random(42);
  std::vector<std::size_t> all = random.permutation(1000);
  random.shuffle(all);
  std::vector<bool> met(1000);
  for (const std::size_t n : all) met[n] = true;
  EXPECT_THAT(met, testing::Each(true));
}

}  // namespace
}  // namespace berth::fgd
