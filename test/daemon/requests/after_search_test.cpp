// Goal: what a job is to wait for is found, however it is said, by a number of looks that a request
// cannot drive up. Method: made-up jobs behind a function that counts what it is asked for.
#include "daemon/requests/after_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/limits.hpp"

namespace berth::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AfterSearchTest : public testing::Test {
 protected:
  /// An array whose tasks are `begin`, `begin + step` ..; jobs from `first` on.
  void add_array(std::uint64_t first, std::int32_t tasks, std::int64_t begin, std::int64_t step) {
    for (std::int32_t i = 0; i < tasks; ++i) {
      const JobId id(first + static_cast<std::uint64_t>(i));
      jobs_[id] = {.job = id,
                   .array = {.first = JobId(first), .task = begin + i * step, .tasks = tasks}};
    }
  }
  void end(std::uint64_t id, Outcome how) { jobs_[JobId(id)].ended = how; }
  void add(std::uint64_t id, std::optional<Outcome> ended = {}) {
    jobs_[JobId(id)] = {.job = JobId(id), .array = {}, .ended = ended};
  }
  FindJobs find() {
    return [this](JobId first, JobId last) -> Expected<std::vector<JobFound>> {
      std::vector<JobFound> found;
      ++calls_;
      most_at_once_ = std::max<std::uint64_t>(most_at_once_, last.value() - first.value() + 1);
      for (auto job = jobs_.lower_bound(first); job != jobs_.end() && job->first <= last; ++job) {
        found.push_back(job->second);
        ++looks_;
      }
      return found;
    };
  }
  Expected<std::vector<Dependency>> search(const std::vector<live::AfterTask>& asked) {
    looks_ = calls_ = 0;
    AfterSearch search(asked, find());
    while (true) {
      const auto more = search.advance([] { return false; });
      if (!more) return std::unexpected(more.error());
      if (!*more) return search.take();
    }
  }
  std::vector<std::uint64_t> found(const std::vector<live::AfterTask>& asked) {
    const auto list = search(asked);
    EXPECT_TRUE(list) << list.error().message;
    std::vector<std::uint64_t> ids;
    if (list) {
      for (const Dependency& on : *list) ids.push_back(on.job.value());
    }
    return ids;
  }
  std::string refusal(const std::vector<live::AfterTask>& asked) {
    const auto list = search(asked);
    return list ? "found" : list.error().message;
  }

  std::map<JobId, JobFound> jobs_;
  std::size_t looks_ = 0;
  std::size_t calls_ = 0;
  std::uint64_t most_at_once_ = 0;
};

live::AfterTask job(std::uint64_t id, After when = After::Ok) {
  return {.on = {.job = JobId(id), .when = when}};
}
live::AfterTask task(std::uint64_t array, std::int64_t number, After when = After::Ok) {
  return {.on = {.job = JobId(array), .when = when}, .task = number};
}

TEST_F(AfterSearchTest, EachTaskHasItsCounterpart) {
  add_array(10, 5, 0, 2);  // 0, 2, .. 8
  end(11, Outcome::Failed);
  live::AfterTask asked = job(10);
  asked.same_task = true;
  AfterSearch search({asked}, find());
  while (*search.advance([] { return false; })) {
  }
  EXPECT_TRUE(search.take().empty()) << "that task 2 failed is for one task alone to know";
  live::Submission array{.spec = {}, .command = {}, .tasks = {2, 8}};
  ASSERT_TRUE(add_counterparts(array, search.counterparts()));
  EXPECT_THAT(array.only_for, ElementsAre(std::pair(JobId(11), 2), std::pair(JobId(14), 8)));
  EXPECT_EQ(array.spec.conditions->after.size(), 2U);
  EXPECT_EQ(array.spec.conditions->after[0].ended, Outcome::Failed);
  EXPECT_EQ(live::waits_of_each(array), 1U);
  array.tasks = {2, 3};
  EXPECT_THAT(add_counterparts(array, search.counterparts()).error().message,
              HasSubstr("array 10: has no task 3 for task 3 of this one"));
  array.tasks = {};
  EXPECT_THAT(add_counterparts(array, search.counterparts()).error().message,
              HasSubstr("array 10: same_task, and this job is of no array"));
}

TEST_F(AfterSearchTest, FindsJobsArraysAndTasks) {
  add(1);
  add(2, Outcome::Failed);
  add_array(10, 4, 0, 1);
  add_array(20, 3, 7, 2);  // 7, 9, 11
  EXPECT_THAT(found({job(2, After::Any), job(1)}), ElementsAre(1, 2));
  EXPECT_EQ(search({job(2, After::Any)})->front().ended, Outcome::Failed);
  EXPECT_THAT(found({job(10)}), ElementsAre(10, 11, 12, 13));
  EXPECT_THAT(found({job(11)}), ElementsAre(11)) << "a job of an array";
  EXPECT_THAT(found({task(10, 2)}), ElementsAre(12));
  EXPECT_THAT(found({task(20, 11), task(20, 7)}), ElementsAre(20, 22));
  EXPECT_THAT(found({task(10, 2), task(10, 2), job(1), job(1)}), ElementsAre(1, 12)) << "each once";
  EXPECT_THAT(found({task(10, 2), task(10, 2, After::Any)}), ElementsAre(12, 12));
}

TEST_F(AfterSearchTest, NamesWhatThereIsNot) {
  add(1);
  add_array(10, 4, 0, 2);
  EXPECT_EQ(refusal({job(9)}), "after: job 9: no such job");
  EXPECT_EQ(refusal({task(1, 3)}), "after: job 1: is no array");
  EXPECT_EQ(refusal({task(10, 3)}), "after: array 10: has no task 3");
  EXPECT_EQ(refusal({task(10, 2), task(10, 99)}), "after: array 10: has no task 99");
}

TEST_F(AfterSearchTest, AnArrayAsAWholeIsTold) {
  add(1);
  add_array(10, 2, 0, 1);
  const auto array_of_first = [&](const live::AfterTask& asked) {
    return search({asked})->front().array;
  };
  EXPECT_EQ(array_of_first(job(1)), JobId(0));
  EXPECT_EQ(array_of_first(job(10)), JobId(10));
  EXPECT_EQ(array_of_first(job(11)), JobId(0)) << "one job of it";
  EXPECT_EQ(array_of_first(task(10, 1)), JobId(0));
}

TEST_F(AfterSearchTest, WhatCanNeverBeIsRefused) {
  add(1, Outcome::Failed);
  add(2, Outcome::Done);
  add_array(10, 3, 7, 1);
  EXPECT_EQ(refusal({job(1)}), "after: job 1 ended as failed: after-ok 1 can never be satisfied");
  EXPECT_EQ(refusal({job(2, After::NotOk)}),
            "after: job 2 ended as done: after-notok 2 can never be satisfied");
  EXPECT_THAT(found({job(1, After::NotOk), job(2), job(1, After::Any)}), ElementsAre(1, 1, 2));
  end(10, Outcome::Done);
  end(11, Outcome::Timeout);
  EXPECT_EQ(refusal({task(10, 8)}),
            "after: job 10_8 ended as timeout: after-ok 10_8 can never be satisfied");
  EXPECT_EQ(refusal({job(10)}),
            "after: job 10_8 ended as timeout: after-ok 10 can never be satisfied");
  EXPECT_EQ(refusal({task(10, 7, After::NotOk)}),
            "after: job 10_7 ended as done: after-notok 10_7 can never be satisfied");
  EXPECT_EQ(refusal({job(10, After::NotOk)}), "found") << "one is enough";
  end(11, Outcome::Done);
  EXPECT_EQ(refusal({job(10, After::NotOk)}), "found") << "one may end otherwise yet";
  end(12, Outcome::Done);
  EXPECT_EQ(refusal({job(10, After::NotOk)}),
            "after: all tasks of array 10 ended well: after-notok 10 can never be satisfied");
}

/// A row that was dropped is not there, and nobody knows how it ended.
TEST_F(AfterSearchTest, ATaskIsFoundAmongGaps) {
  add_array(10, 100, 0, 1);
  for (std::uint64_t id = 11; id < 60; ++id) jobs_.erase(JobId(id));
  EXPECT_THAT(found({task(10, 70)}), ElementsAre(80));
  EXPECT_EQ(refusal({task(10, 20)}), "after: array 10: has no task 20");
  EXPECT_EQ(found({job(10)}).size(), 100U);
}

TEST_F(AfterSearchTest, TheLimitComesFirst) {
  add_array(10, 4096, 1, 1);
  add_array(5000, 4096, 1, 1);
  EXPECT_EQ(found({job(10)}).size(), 4096U);
  EXPECT_EQ(refusal({job(10), job(5000)}), "after: 8192 jobs, the most is 4096");
  EXPECT_LE(looks_, 2U);
  EXPECT_EQ(refusal({job(10), job(10, After::Any), job(5000)}),
            "after: 8192 jobs or more, the most is 4096");
  EXPECT_LE(looks_, 1U);
}

/// Thousands of tasks of one array cost one look each, in pieces.
TEST_F(AfterSearchTest, ALongListCostsALookForEach) {
  for (const std::int64_t step : {1, 3}) {
    add_array(10, 4096, 1, step);
    std::vector<live::AfterTask> asked;
    for (std::int64_t i = 4095; i >= 0; --i) asked.push_back(task(10, 1 + i * step));
    EXPECT_EQ(found(asked).size(), 4096U);
    EXPECT_LE(looks_, 2 * 4096U + 2);
    EXPECT_LE(most_at_once_, 65U);
  }
  std::vector<live::AfterTask> same(4096, task(10, 4096 * 3 - 2));
  EXPECT_THAT(found(same), ElementsAre(4105));
  EXPECT_LE(looks_, 4100U);
}

/// What must be gone through for tasks of arrays with gaps in their numbers is bounded, too.
TEST_F(AfterSearchTest, ManyArraysWithGapsAreRefused) {
  std::vector<live::AfterTask> asked;
  for (std::uint64_t array = 0; array < 20; ++array) {
    add_array(1 + array * 4096, 4096, 0, 2);
    asked.push_back(task(1 + array * 4096, 8000));
  }
  EXPECT_THAT(refusal(asked), HasSubstr("are not numbered one by one, the most is 16384"));
  EXPECT_LE(looks_, limits::kMostDependenciesOfArray + 100);
}

}  // namespace
}  // namespace berth::daemon
