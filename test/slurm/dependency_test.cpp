// Goal: dependencies are judged as Slurm judges those of jobs that are not held.
// Method: Slurm's texts, and jobs in each phase.
#include "slurm/dependency.hpp"

#include <gtest/gtest.h>

#include <map>

namespace berth::slurm {
namespace {

class Dependencies : public testing::Test {
 protected:
  Dependencies() {
    add({.id = 1, .phase = Phase::Pending});
    add({.id = 2, .phase = Phase::Running});
    add({.id = 3, .phase = Phase::Over, .outcome = Outcome::Done});
    add({.id = 4, .phase = Phase::Over, .outcome = Outcome::Failed});
    add({.id = 5, .array = 5, .task = 1, .phase = Phase::Over, .outcome = Outcome::Done});
    add({.id = 6, .array = 5, .task = 2, .phase = Phase::Running});
  }
  void add(JobRecord job) { jobs_[job.id] = std::move(job); }
  Met judged(std::string_view text) const {
    return judge(text, [&](SlurmId id, std::optional<std::uint32_t> task) {
      std::vector<const JobRecord*> found;
      for (const auto& [number, job] : jobs_) {
        const bool is_it = task ? job.array == id && job.task == *task
                                : job.array == id || (job.array == 0 && number == id);
        if (is_it) found.push_back(&job);
      }
      return found;
    });
  }
  std::map<SlurmId, JobRecord> jobs_;
};

TEST_F(Dependencies, EachKindIsMetByWhatItNames) {
  for (const char* met :
       {"", "after:2(unfulfilled)", "after:3", "afterany:3(unfulfilled)", "afterany:4", "afterok:3",
        "afternotok:4", "afterany:99(unfulfilled)", "afterok:5_1(unfulfilled)"}) {
    EXPECT_EQ(judged(met), Met::Yes) << met;
  }
  for (const char* waits : {"after:1", "afterany:2(unfulfilled)", "afterok:2", "afternotok:2",
                            "afterok:5_2", "afterany:5_*(unfulfilled)", "afterok:5"}) {
    EXPECT_EQ(judged(waits), Met::NotYet) << waits;
  }
  for (const char* never : {"afterok:4(failed)", "afternotok:3"}) {
    EXPECT_EQ(judged(never), Met::Never) << never;
  }
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
  for (const char* odd : {"singleton(unfulfilled)", "aftercorr:3", "after:3+5", "afterok:x",
                          "afterok:", "afterok", "afterok:5_x", "afterok:99999999999"}) {
    EXPECT_EQ(judged(odd), Met::NotYet) << odd;
  }
}

}  // namespace
}  // namespace berth::slurm
