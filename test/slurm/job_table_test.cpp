// Goal: the counts of jobs are those of the records that were told last. Method: golden cases, and
// records that change.
#include "slurm/job_table.hpp"

#include <gtest/gtest.h>

namespace berth::slurm {
namespace {

TEST(JobTable, KnowsTheLatestRecordOfEach) {
  JobTable jobs;
  jobs.put({.id = 7, .name = "a"});
  jobs.put({.id = 7, .name = "b"});
  ASSERT_NE(jobs.find(7), nullptr);
  EXPECT_EQ(jobs.find(7)->name, "b");
  EXPECT_EQ(jobs.find(8), nullptr);
  jobs.remove(7);
  jobs.remove(8);
  EXPECT_EQ(jobs.find(7), nullptr);
}

TEST(JobTable, CountsOneJob) {
  JobTable jobs;
  EXPECT_EQ(jobs.tally(1), Tally());
  jobs.put({.id = 1, .phase = Phase::Pending});
  EXPECT_EQ(jobs.tally(1), (Tally{.jobs = 1, .pending = 1, .unfinished = 1}));
  jobs.put({.id = 1, .phase = Phase::Suspended});
  EXPECT_EQ(jobs.tally(1), (Tally{.jobs = 1, .unfinished = 1}));
  jobs.put({.id = 1, .phase = Phase::Over, .is_completing = true, .outcome = Outcome::Failed});
  EXPECT_EQ(jobs.tally(1), (Tally{.jobs = 1, .unfinished = 1}));
  jobs.put({.id = 1, .phase = Phase::Over, .outcome = Outcome::Failed});
  EXPECT_EQ(jobs.tally(1), (Tally{.jobs = 1}));
  jobs.put({.id = 1, .phase = Phase::Over, .outcome = Outcome::Done});
  EXPECT_EQ(jobs.tally(1), (Tally{.jobs = 1, .done = 1}));
}

TEST(JobTable, CountsTheTasksOfAnArray) {
  JobTable jobs;
  jobs.put({.id = 5, .array = 5, .tasks = "1-3", .phase = Phase::Pending});
  EXPECT_EQ(jobs.tally(5, 2), (Tally{.jobs = 1, .pending = 1, .unfinished = 1}));
  // Task 2 gets a number of its own, and task 3 keeps the array's.
  jobs.put({.id = 6, .array = 5, .task = 2, .phase = Phase::Running});
  jobs.put({.id = 5, .array = 5, .task = 3, .phase = Phase::Pending});
  jobs.put({.id = 8, .array = 5, .task = 1, .phase = Phase::Over, .outcome = Outcome::Done});
  EXPECT_EQ(jobs.tally(5), (Tally{.jobs = 3, .pending = 1, .unfinished = 2, .done = 1}));
  EXPECT_EQ(jobs.tally(5, 1), (Tally{.jobs = 1, .done = 1}));
  EXPECT_EQ(jobs.tally(5, 2), (Tally{.jobs = 1, .unfinished = 1}));
  EXPECT_EQ(jobs.tally(5, 3), (Tally{.jobs = 1, .pending = 1, .unfinished = 1}));
  EXPECT_EQ(jobs.tally(5, 4), Tally());
  EXPECT_EQ(jobs.tally(8), (Tally{.jobs = 1, .done = 1})) << "by its own number";
  for (const SlurmId id : {5U, 6U, 8U}) jobs.remove(id);
  EXPECT_EQ(jobs.tally(5), Tally());
  EXPECT_EQ(jobs.tally(5, 1), Tally());
}

TEST(JobTable, KnowsTheLastStart) {
  JobTable jobs;
  EXPECT_EQ(jobs.last_start(1), 0);
  jobs.put({.id = 1, .phase = Phase::Running, .started = 70});
  EXPECT_EQ(jobs.last_start(1), 70);
  jobs.put({.id = 5, .array = 5, .task = 3, .phase = Phase::Running, .started = 90});
  jobs.put({.id = 6, .array = 5, .task = 1, .phase = Phase::Running, .started = 95});
  jobs.put({.id = 7, .array = 7, .task = 1, .phase = Phase::Running, .started = 99});
  EXPECT_EQ(jobs.last_start(5), 95) << "of the array";
  EXPECT_EQ(jobs.last_start(5, 3), 90);
  EXPECT_EQ(jobs.last_start(5, 4), 0);
  EXPECT_EQ(jobs.last_start(6), 95) << "by its own number";
}

TEST(JobTable, LetsOneJobOfANameGoFirst) {
  JobTable jobs;
  const JobRecord first{.id = 2, .user = 10, .name = "night", .phase = Phase::Pending};
  const JobRecord second{.id = 4, .user = 10, .name = "night", .phase = Phase::Pending};
  jobs.put(second);
  EXPECT_TRUE(jobs.is_next_of_its_name(second));
  jobs.put(first);
  jobs.put({.id = 1, .user = 10, .name = "day", .phase = Phase::Running});
  jobs.put({.id = 3, .user = 11, .name = "night", .phase = Phase::Running});
  EXPECT_TRUE(jobs.is_next_of_its_name(first));
  EXPECT_FALSE(jobs.is_next_of_its_name(second));

  JobRecord third{.id = 5, .user = 10, .name = "night", .phase = Phase::Suspended};
  jobs.put(third);
  EXPECT_FALSE(jobs.is_next_of_its_name(first)) << "a later one runs";
  third.phase = Phase::Over;
  third.is_completing = true;  // Slurm does not wait for its processes either
  jobs.put(third);
  EXPECT_TRUE(jobs.is_next_of_its_name(first));

  JobRecord renamed = first;
  renamed.name = "day";
  jobs.put(renamed);
  EXPECT_TRUE(jobs.is_next_of_its_name(second));
  EXPECT_FALSE(jobs.is_next_of_its_name(renamed));
  jobs.remove(1);
  EXPECT_TRUE(jobs.is_next_of_its_name(renamed));
}

}  // namespace
}  // namespace berth::slurm
