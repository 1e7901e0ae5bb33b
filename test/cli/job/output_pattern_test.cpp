// Goal: a file of --output has the name that sbatch would give it. Method: patterns.
#include "cli/job/output_pattern.hpp"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

const PatternFacts kFacts = {.name = "train", .user = "ann", .host = "gpu1"};

TEST(OutputPattern, HasWhatIsKnownAtSubmission) {
  EXPECT_EQ(filled_pattern("logs/%x-%u@%N.out", kFacts), "logs/train-ann@gpu1.out");
  EXPECT_EQ(filled_pattern("%n%t%s", kFacts), "00batch");
  EXPECT_EQ(filled_pattern("plain", kFacts), "plain");
  EXPECT_EQ(filled_pattern("", kFacts), "");
}

TEST(OutputPattern, LeavesToBerthdWhatIsKnownAtTheStart) {
  EXPECT_EQ(filled_pattern("%j_%A_%a_%%", kFacts), "%j_%A_%a_%%");
  EXPECT_EQ(filled_pattern("%J.%4J.%03a", kFacts), "%j.%4j.%03a");
}

TEST(OutputPattern, LeavesWhatStandsForNothing) {
  EXPECT_EQ(filled_pattern("%q %7 %", kFacts), "%q %7 %");
  EXPECT_EQ(filled_pattern("%é", kFacts), "%é");
}

TEST(OutputPattern, AsAPartOfANameIsNoPattern) {
  EXPECT_EQ(filled_pattern("%x", {.name = "50%j", .user = "", .host = ""}), "50%%j");
}

}  // namespace
}  // namespace berth::cli
