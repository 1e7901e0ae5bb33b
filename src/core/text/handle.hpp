// What users name jobs by, the same for every verb, the API and Slurm's commands:
//
//   643            job 643; if that is an array, all of it
//   643_5          a task of array 643; 643_5-9 and 643_[1,3-5] some of them, 643_* all
//   7-12           the jobs and arrays with these numbers
//   7,9-12,643_5   several of these, jobs before tasks: 643_5,9 may mean 643_[5,9], and is refused
//   train-*        a name: `*` stands for any characters, `?` for one
//
// This is the grammar; which jobs a handle stands for is said by daemon/answers/selection.hpp.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "core/conditions.hpp"
#include "core/text/array_text.hpp"

namespace berth {

/// Jobs and arrays by their numbers; one number, or all from the first to the last.
struct NumberedJobs {
  JobId first;
  JobId last;

  bool is_one() const { return first == last; }
  bool operator==(const NumberedJobs&) const = default;
};

/// Tasks of an array.
struct TasksOfArray {
  JobId array;
  std::vector<TaskRange> tasks;  ///< None: all.

  bool is_one() const { return tasks.size() == 1 && tasks[0].first == tasks[0].last; }
  bool operator==(const TasksOfArray&) const = default;
};

/// Jobs whose name is like a pattern.
struct JobsNamed {
  std::string pattern;

  bool operator==(const JobsNamed&) const = default;
};

struct Handle {
  std::string typed;  ///< For messages: its own part of a list.
  std::variant<NumberedJobs, TasksOfArray, JobsNamed> what;

  bool operator==(const Handle&) const = default;
};

/// The most that one request names: each handle and each range of tasks counts.
inline constexpr std::size_t kMostHandles = std::size_t{1} << 14;
/// How many of these there are.
std::size_t count_of(const std::vector<Handle>& handles);

/// One handle, or the parts of a list. What is not of numbers is a name, commas and all. Errors:
/// InvalidArgument naming the text and the limit, for a number that no job or task can have, a
/// range that ends before it begins, a name that is longer than any and more than kMostHandles; and
/// for "".
Expected<std::vector<Handle>> parse_handles(std::string_view text);

/// The numbers that an array's jobs have: those from its first on, one for each task.
struct ArraySpan {
  JobId first;
  JobId last;

  bool has(JobId job) const { return job >= first && job <= last; }
  bool operator==(const ArraySpan&) const = default;
};
/// Of the array that this job is of. Nothing for a job of none, and for one whose place is that of
/// another resource manager's array, whose numbers do not follow each other.
std::optional<ArraySpan> array_of(JobId job, const ArrayPlace& place);

/// `643_5` for a task of an array, the number for every other job: the handle of this job alone.
std::string handle_of(JobId job, const ArrayPlace& place);

/// True if the text is like the pattern: `*` stands for any characters, `?` for one.
bool is_like(std::string_view text, std::string_view pattern);

/// The name of an array, of which `name` is a task's: `train` of `train[5]`, and of
/// `train[5] lr=0.1` (points.hpp).
std::string_view array_name(std::string_view name, const ArrayPlace& place);

}  // namespace berth
