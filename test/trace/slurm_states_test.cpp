// Goal: states are known as Slurm's commands write them, also where a table cuts them off.
// Method: their words.
#include "trace/slurm_states.hpp"

#include <gtest/gtest.h>

namespace berth::trace {
namespace {

TEST(SlurmStates, AreKnownWithWhatFollowsAndCutOff) {
  EXPECT_EQ(slurm_outcome("CANCELLED by 1000"), Outcome::Ended);
  EXPECT_EQ(slurm_outcome("CANCELLED+"), Outcome::Ended);
  EXPECT_EQ(slurm_outcome("OUT_OF_ME+"), Outcome::Itself);
  EXPECT_EQ(slurm_outcome("COMPLETED"), Outcome::Itself);
  EXPECT_FALSE(slurm_outcome("CANCELLED_"));
  EXPECT_FALSE(slurm_outcome("+"));
  EXPECT_FALSE(slurm_outcome("CANCEL"));
}

}  // namespace
}  // namespace berth::trace
