// Goal: learned memory is above every peak seen, by a margin that shrinks with evidence.
// Method: figures by hand.
#include "core/knowledge/memory_estimate.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace berth {
namespace {

using namespace berth::literals;

TEST(MemoryEstimate, IsTheLargestPeakWithAMarginThatShrinks) {
  EXPECT_EQ(memory_from({}), std::nullopt);
  EXPECT_EQ(memory_from(std::vector{10_GiB}), 15_GiB) << "half as much again after one run";
  const std::vector<Bytes> few = {4_GiB, 10_GiB};
  EXPECT_EQ(memory_from(few), 13_GiB) << "30 % after two";
  const std::vector<Bytes> many(16, 10_GiB);
  EXPECT_EQ(memory_from(many), 11_GiB + 256_MiB) << "12.5 %";
  EXPECT_EQ(memory_from(std::vector(16, 100_MiB)), 640_MiB) << "at least 512 MiB, in steps of 64";
}

}  // namespace
}  // namespace berth
