// Goal: what users name jobs by is read in one way, and what is no number is a name.
// Method: texts, and their handles written by hand.
#include "core/text/handle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/limits.hpp"
#include "core/view.hpp"

namespace berth {
namespace {

using testing::HasSubstr;

Handle numbers(const std::string& typed, std::uint64_t first, std::uint64_t last) {
  return {typed, NumberedJobs{JobId(first), JobId(last)}};
}
Handle tasks(const std::string& typed, std::uint64_t array, std::vector<TaskRange> which) {
  return {typed, TasksOfArray{JobId(array), std::move(which)}};
}
Handle named(const std::string& typed) { return {typed, JobsNamed{typed}}; }

std::string error_of(std::string_view text) {
  const auto handles = parse_handles(text);
  EXPECT_FALSE(handles) << text;
  return handles ? "" : handles.error().message;
}

TEST(Handles, AreNumbersRangesTasksAndNames) {
  using List = std::vector<Handle>;
  EXPECT_EQ(parse_handles("643"), (List{numbers("643", 643, 643)}));
  EXPECT_EQ(parse_handles("7-12"), (List{numbers("7-12", 7, 12)}));
  EXPECT_EQ(parse_handles("643_5"), (List{tasks("643_5", 643, {{5, 5}})}));
  EXPECT_EQ(parse_handles("643_0"), (List{tasks("643_0", 643, {{0, 0}})}));
  EXPECT_EQ(parse_handles("643_5-9"), (List{tasks("643_5-9", 643, {{5, 9}})}));
  EXPECT_EQ(parse_handles("643_*"), (List{tasks("643_*", 643, {})}));
  EXPECT_EQ(parse_handles("643_[1,3-5]"), (List{tasks("643_[1,3-5]", 643, {{1, 1}, {3, 5}})}));
  EXPECT_EQ(parse_handles("643_[1-9:2%4]"), (List{tasks("643_[1-9:2%4]", 643, {{1, 9, 2}})}));
  EXPECT_EQ(parse_handles("7,9-12,643_[1,2]"), (List{numbers("7", 7, 7), numbers("9-12", 9, 12),
                                                     tasks("643_[1,2]", 643, {{1, 1}, {2, 2}})}));
}

TEST(Handles, ThatAreNotOfNumbersAreNames) {
  for (const char* const name :
       {"train",   "train-*", "7b",           "2024_run1", "643_", "643_[", "643_[1",   "643_[]",
        "643_1:2", "643_1,x", "lr=0.1,bs=32", "-7",        "7-",   "7--9",  "a[3]",     "643_5_6",
        "0x7",     "*",       "643_[1%]",     "7,",        ",",    "7 ,8",  "643_5-9:2"}) {
    EXPECT_EQ(parse_handles(name), std::vector{named(name)}) << name;
  }
}

TEST(Handles, NameTheValueAndTheLimitWhereNoJobCanBe) {
  const std::string most = std::to_string(kLastJob.value());
  for (const char* const text : {"0", "0-3", "0_1", "99999999999999999999", "1099511627777", "5,0",
                                 "99999999999999999999_1"}) {
    EXPECT_THAT(error_of(text), HasSubstr("is not a job number, which is from 1 to " + most));
  }
  EXPECT_EQ(
      error_of("643_1,3"),
      "643_1,3: may mean job 3 or a task of array 643; write 643_[1,3] for tasks, and numbers "
      "of jobs first");
  EXPECT_TRUE(parse_handles("3,643_1,643_3"));
  EXPECT_EQ(error_of("10-5"), "10-5: the first number of a range is larger than the last");
  EXPECT_EQ(error_of("7_9-5"), "7_9-5: the first task of a range is larger than the last");
  EXPECT_EQ(error_of("7_[1,9-5]"), "7_[1,9-5]: the first task of a range is larger than the last");
  EXPECT_EQ(error_of(""), "'': names no job");
  EXPECT_LT(error_of(std::string(100'000, '9')).size(), 200U);
  EXPECT_TRUE(parse_handles(most));
}

/// A request costs what it names, so there is an end to that.
TEST(Handles, AreNoMoreThanOneRequestMayName) {
  const auto list_of = [](std::size_t parts, const std::string& part) {
    std::string list = part;
    for (std::size_t i = 1; i < parts; ++i) list += "," + part;
    return list;
  };
  EXPECT_EQ(parse_handles(list_of(kMostHandles, "7"))->size(), kMostHandles);
  const auto ranges = parse_handles("643_[" + list_of(kMostHandles, "1") + "]");
  EXPECT_EQ(count_of(*ranges), kMostHandles);
  const std::string told = "is a list of " + std::to_string(kMostHandles + 1) + ", the most is " +
                           std::to_string(kMostHandles);
  EXPECT_THAT(error_of(list_of(kMostHandles + 1, "7")), HasSubstr(told));
  EXPECT_THAT(error_of("643_[" + list_of(kMostHandles + 1, "1") + "]"), HasSubstr(told));
  EXPECT_EQ(count_of(*parse_handles("7,9-12,643_*,643_[1,2]")), 5U);
  EXPECT_TRUE(parse_handles(std::string(limits::kMostName, '*')));
  EXPECT_THAT(error_of(std::string(limits::kMostName + 1, '*')),
              HasSubstr("is longer than any name: 257 bytes, the most is 256"));
}

TEST(Handles, OfATaskAreItsArrayAndItsNumberInIt) {
  const ArrayPlace place{.first = JobId(643), .task = 70, .tasks = 3};
  EXPECT_EQ(handle_of(JobId(645), place), "643_70");
  EXPECT_EQ(handle_of(JobId(645), {}), "645");
  EXPECT_EQ(array_of(JobId(645), place), (ArraySpan{JobId(643), JobId(645)}));
  EXPECT_EQ(array_of(JobId(646), place), std::nullopt);  // numbers that do not follow each other
  EXPECT_EQ(handle_of(JobId(646), place), "646");
  EXPECT_EQ(array_name("train[70]", place), "train");
  EXPECT_EQ(array_name("train[70]", {}), "train[70]");
  EXPECT_EQ(array_name("train[7]", place), "train[7]");
}

}  // namespace
}  // namespace berth
