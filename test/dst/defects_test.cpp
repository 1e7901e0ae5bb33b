// Goal: the simulation would notice. Method: the simulated hands and their
// disk get one defect each (plan.hpp); some seed must break an invariant, in words
// that fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dst/simulation.hpp"

namespace berth::dst {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr std::uint64_t kMostSeeds = 150;

/// What the first seed from `first` on finds that finds anything; "" if none does.
std::string found_with(Defect defect, std::uint64_t first = 1) {
  for (std::uint64_t seed = first; seed <= kMostSeeds; ++seed) {
    if (const auto finding = simulate(seed, defect).finding) return *finding;
  }
  return "";
}

/// Before that seed the charge of the job that never starts hides what another leaves behind, which
/// is found first.
constexpr std::uint64_t kPastAHiddenRest = 3;

TEST(Defects, AStartThatIsForgotten) {
  EXPECT_THAT(found_with(Defect::ForgetsAStart, kPastAHiddenRest),
              HasSubstr("does not come to an end"));
}

TEST(Defects, AnEndThatIsNeverTold) {
  EXPECT_THAT(found_with(Defect::DropsAnEnd), HasSubstr("does not come to an end"));
}

TEST(Defects, ALaunchWithoutALookAtTheFile) {
  EXPECT_THAT(found_with(Defect::StartsAgain), HasSubstr("runs again"));
}

TEST(Defects, AnAnswerBeforeTheDiskHasIt) {
  EXPECT_THAT(found_with(Defect::AnswersTooEarly), HasSubstr("was accepted and is lost"));
}

TEST(Defects, ASyncThatDoesNothing) {
  EXPECT_THAT(
      found_with(Defect::DiskLies),
      AnyOf(HasSubstr("was written for good"), HasSubstr("does not verify"), HasSubstr("is lost")));
}

TEST(Defects, WritesThatGoWithTheProcess) {
  EXPECT_THAT(found_with(Defect::ForgetsWrites),
              AnyOf(HasSubstr("was written for good"), HasSubstr("cannot be read")));
}

TEST(Defects, MemoryThatCountsAsFreeTooEarly) {
  EXPECT_THAT(found_with(Defect::ReleasesTooEarly), HasSubstr("a start on GPU"));
}

TEST(Defects, AStartOnOldFigures) {
  EXPECT_THAT(found_with(Defect::ShowsOldFigures),
              AnyOf(HasSubstr("a start on GPU"), HasSubstr("broken when it was looked at"),
                    HasSubstr("does not come to an end")));  // seen for ever, never given back
}

TEST(Defects, AStartOnAGpuKnownToBeBroken) {
  EXPECT_THAT(found_with(Defect::HidesBadGpus),
              AnyOf(HasSubstr("broken when it was looked at"), HasSubstr("a start on GPU")));
}

TEST(Defects, AnAlarmThatIsLost) {
  EXPECT_THAT(found_with(Defect::LosesAlarms), HasSubstr("does not come to an end"));
}

TEST(Defects, ASnapshotOfALaterState) {
  constexpr std::uint64_t kPastAnAssertion = 17;  // before it the engine itself stops the program
  EXPECT_THAT(found_with(Defect::CopiesTooLate, kPastAnAssertion),
              AnyOf(HasSubstr("is another one than before"), HasSubstr("does not verify")));
}

}  // namespace
}  // namespace berth::dst
