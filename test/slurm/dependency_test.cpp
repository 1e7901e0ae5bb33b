// Goal: dependencies are judged as Slurm judges those of jobs that are not held.
// Method: Slurm's texts, and jobs in each phase.
#include "slurm/dependency.hpp"

#include <gtest/gtest.h>

#include <string>

namespace berth::slurm {
namespace {

constexpr std::int64_t kUnixNow = 1'000'000;  // seconds since 1970

class Dependencies : public testing::Test {
 protected:
  Dependencies() {
    jobs_.put({.id = 1, .phase = Phase::Pending});
    jobs_.put({.id = 2, .phase = Phase::Running});
    jobs_.put({.id = 3, .phase = Phase::Over, .outcome = Outcome::Done});
    jobs_.put({.id = 4, .phase = Phase::Over, .outcome = Outcome::Failed});
    jobs_.put({.id = 5, .array = 5, .task = 1, .phase = Phase::Over, .outcome = Outcome::Done});
    jobs_.put({.id = 6, .array = 5, .task = 2, .phase = Phase::Running});
    jobs_.put({.id = 7, .array = 5, .task = 3, .phase = Phase::Over, .outcome = Outcome::Failed});
  }
  Met judged(const std::string& text) const {
    return judge({.id = 50, .dependency = text}, jobs_, kUnixNow);
  }
  /// Of a task of another array.
  Met judged(const std::string& text, std::uint32_t task) const {
    return judge({.id = 50, .array = 40, .task = task, .dependency = text}, jobs_, kUnixNow);
  }
  JobTable jobs_;
};

TEST_F(Dependencies, EachKindIsMetByWhatItNames) {
  for (const char* met :
       {"", "after:2(unfulfilled)", "after:3", "afterany:3(unfulfilled)", "afterany:4", "afterok:3",
        "afternotok:4", "afterany:99(unfulfilled)", "afterok:99", "afternotok:99", "after:5_*",
        "afterok:5_1(unfulfilled)", "afternotok:5_3", "afterany:7"}) {
    EXPECT_EQ(judged(met), Met::Yes) << met;
  }
  for (const char* waits : {"after:1", "afterany:2(unfulfilled)", "afterok:2", "afternotok:2",
                            "afterok:5_2", "afterany:5_*(unfulfilled)", "afterok:5"}) {
    EXPECT_EQ(judged(waits), Met::NotYet) << waits;
  }
  for (const char* never : {"afterok:4(failed)", "afternotok:3", "afterok:5_3"}) {
    EXPECT_EQ(judged(never), Met::Never) << never;
  }
}

TEST_F(Dependencies, MayBeSoManyMinutesAfterAStart) {
  jobs_.put({.id = 2, .phase = Phase::Running, .started = kUnixNow - 299});
  EXPECT_EQ(judged("after:2+4(unfulfilled)"), Met::Yes);
  EXPECT_EQ(judged("after:2+5(unfulfilled)"), Met::NotYet);
  jobs_.put({.id = 2, .phase = Phase::Over, .started = kUnixNow - 300});
  EXPECT_EQ(judged("after:2+5"), Met::Yes) << "as long after a start that is over";
  EXPECT_EQ(judged("after:1+5"), Met::NotYet) << "it has not begun";
  EXPECT_EQ(judged("after:99+5"), Met::Yes) << "forgotten";
  EXPECT_EQ(judged("afterok:3+5"), Met::NotYet) << "nothing that Slurm says";
  EXPECT_EQ(judged("after:2+5x"), Met::NotYet);
  jobs_.put({.id = 5, .array = 5, .task = 1, .phase = Phase::Over, .started = kUnixNow - 90});
  jobs_.put({.id = 6, .array = 5, .task = 2, .phase = Phase::Running, .started = kUnixNow - 30});
  EXPECT_EQ(judged("after:5_1+1"), Met::Yes);
  EXPECT_EQ(judged("after:5_*+1"), Met::NotYet);
  EXPECT_EQ(judged("after:5_*+2?after:5_1+1"), Met::Yes);
}

TEST_F(Dependencies, OfAWholeArrayWaitForAllOfIt) {
  jobs_.put({.id = 6, .array = 5, .task = 2, .phase = Phase::Over, .is_completing = true});
  EXPECT_EQ(judged("afterany:5_*"), Met::NotYet) << "its processes are not gone";
  jobs_.put({.id = 6, .array = 5, .task = 2, .phase = Phase::Over});
  EXPECT_EQ(judged("afterany:5_*"), Met::Yes);
  EXPECT_EQ(judged("afternotok:5_*"), Met::Yes);
  EXPECT_EQ(judged("afterok:5_*"), Met::Never);
  jobs_.put({.id = 7, .array = 5, .task = 3, .phase = Phase::Over});
  EXPECT_EQ(judged("afterok:5_*"), Met::Yes);
  EXPECT_EQ(judged("afternotok:5_*"), Met::Never);
}

TEST_F(Dependencies, OfATaskMayBeOnItsCounterpart) {
  EXPECT_EQ(judged("aftercorr:5_*(unfulfilled)", 1), Met::Yes);
  EXPECT_EQ(judged("aftercorr:5_*(unfulfilled)", 2), Met::NotYet);
  EXPECT_EQ(judged("aftercorr:5_*(unfulfilled)", 3), Met::Never);
  EXPECT_EQ(judged("aftercorr:99_*(unfulfilled)", 1), Met::Yes) << "forgotten";
}

TEST_F(Dependencies, WithoutACounterpartAreOnTheWhole) {
  EXPECT_EQ(judged("aftercorr:5_*", 4), Met::NotYet);
  EXPECT_EQ(judged("aftercorr:5_*"), Met::NotYet) << "of a job of no array";
  EXPECT_EQ(judged("aftercorr:3", 1), Met::Yes);
  EXPECT_EQ(judged("aftercorr:4", 1), Met::Never);
  jobs_.remove(7);
  jobs_.put({.id = 6, .array = 5, .task = 2, .phase = Phase::Over});
  EXPECT_EQ(judged("aftercorr:5_*", 4), Met::Yes);
}

TEST_F(Dependencies, OfTasksThatSlurmHasNotToldApartWait) {
  jobs_.put({.id = 60, .array = 60, .tasks = "1-3", .phase = Phase::Pending});
  EXPECT_EQ(judged("aftercorr:60_*", 2), Met::NotYet);
  EXPECT_EQ(judged("afterok:60_2"), Met::NotYet);
}

TEST_F(Dependencies, MayBeToRunAlone) {
  JobRecord night{.id = 70, .name = "night", .dependency = "singleton(unfulfilled)"};
  jobs_.put(night);
  EXPECT_EQ(judge(night, jobs_, kUnixNow), Met::Yes);
  jobs_.put({.id = 69, .name = "night", .phase = Phase::Running});
  EXPECT_EQ(judge(night, jobs_, kUnixNow), Met::NotYet);
  night.dependency = "afterok:3,singleton(unfulfilled)";
  EXPECT_EQ(judge(night, jobs_, kUnixNow), Met::NotYet);
  jobs_.put({.id = 69, .name = "night", .phase = Phase::Over, .outcome = Outcome::Failed});
  EXPECT_EQ(judge(night, jobs_, kUnixNow), Met::Yes);
}

TEST_F(Dependencies, AllPartsAreNeededOrAny) {
  EXPECT_EQ(judged("afterok:3,afterany:4"), Met::Yes);
  EXPECT_EQ(judged("afterok:3,afterany:2"), Met::NotYet);
  EXPECT_EQ(judged("afterok:4,afterany:2"), Met::Never);
  EXPECT_EQ(judged("afterok:4?afterany:3"), Met::Yes);
  EXPECT_EQ(judged("afterok:4?afterany:2"), Met::NotYet);
  EXPECT_EQ(judged("afterok:4?afternotok:3"), Met::Never);
}

TEST_F(Dependencies, WhatIsNotKnownIsNotMet) {
  for (const char* odd :
       {"singletons", "aftercorr", "aftercorr:x", "after:3+x", "expand:3", "afterok:x",
        "afterok:", "afterok", "afterok:5_x", "afterok:5_", "afterok:99999999999"}) {
    EXPECT_EQ(judged(odd), Met::NotYet) << odd;
  }
}

}  // namespace
}  // namespace berth::slurm
