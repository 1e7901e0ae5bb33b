#include "core/text/handle.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/limits.hpp"
#include "core/text/amounts.hpp"
#include "core/text/points.hpp"
#include "core/view.hpp"

namespace berth {

namespace {

bool are_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::unexpected<Error> wrong(std::string_view text, const std::string& what) {
  return fail(ErrorCode::InvalidArgument, std::string(text.substr(0, 80)) + ": " + what);
}

/// Requires: digits.
Expected<JobId> job_number(std::string_view whole, std::string_view digits) {
  const auto number = parse_count(digits, static_cast<std::int64_t>(kLastJob.value()));
  if (number && *number > 0) return JobId(static_cast<std::uint64_t>(*number));
  return wrong(whole,
               "is not a job number, which is from 1 to " + std::to_string(kLastJob.value()));
}

using Parsed = Expected<std::optional<Handle>>;  // nothing: it is a name

Parsed parse_numbers(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view from = text.substr(0, dash);
  const std::string_view to = dash == text.npos ? from : text.substr(dash + 1);
  if (!are_digits(from) || !are_digits(to)) return std::nullopt;
  const auto first = job_number(text, from);
  const auto last = job_number(text, to);
  if (!first) return std::unexpected(first.error());
  if (!last) return std::unexpected(last.error());
  if (*first > *last) return wrong(text, "the first number of a range is larger than the last");
  return Handle{std::string(text), NumberedJobs{*first, *last}};
}

/// `5`, `5-9`, `[1,3-5]`, `[1-200%8]` as Slurm prints it, `*`.
Parsed parse_tasks(std::string_view text) {
  const std::size_t line = text.find('_');
  if (line == text.npos || !are_digits(text.substr(0, line))) return std::nullopt;
  std::string_view tasks = text.substr(line + 1);
  TasksOfArray found;
  if (tasks != "*") {
    const bool is_list = tasks.size() > 2 && tasks.front() == '[' && tasks.back() == ']';
    if (is_list) {
      tasks = tasks.substr(1, tasks.size() - 2);
      const std::size_t percent = tasks.find('%');
      if (percent != tasks.npos && !are_digits(tasks.substr(percent + 1))) return std::nullopt;
      tasks = tasks.substr(0, percent);
    }
    auto ranges = parse_task_ranges(tasks);
    if (!ranges || (!is_list && (ranges->size() != 1 || tasks.contains(':')))) return std::nullopt;
    found.tasks = std::move(*ranges);
  }
  const auto array = job_number(text, text.substr(0, line));
  if (!array) return std::unexpected(array.error());
  found.array = *array;
  for (const TaskRange& range : found.tasks) {
    if (range.last < range.first) {
      return wrong(text, "the first task of a range is larger than the last");
    }
  }
  return Handle{std::string(text), std::move(found)};
}

Parsed parse_one(std::string_view text) {
  auto numbers = parse_numbers(text);
  return !numbers || *numbers ? numbers : parse_tasks(text);
}

/// Requires: what is no list of numbers.
Expected<std::vector<Handle>> name_of(std::string_view text) {
  if (text.size() <= limits::kMostName) {
    return std::vector{Handle{std::string(text), JobsNamed{std::string(text)}}};
  }
  return wrong(text, "is longer than any name: " + std::to_string(text.size()) +
                         " bytes, the most is " + std::to_string(limits::kMostName));
}

/// Between commas that are in no brackets.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  bool is_inside = false;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : ',';
    if (c == '[') is_inside = true;
    if (c == ']') is_inside = false;
    if (c != ',' || (is_inside && at < text.size())) continue;
    parts.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  return parts;
}

}  // namespace

std::size_t count_of(const std::vector<Handle>& handles) {
  std::size_t count = 0;
  for (const Handle& handle : handles) {
    const auto* const tasks = std::get_if<TasksOfArray>(&handle.what);
    count += tasks == nullptr ? 1 : std::max<std::size_t>(1, tasks->tasks.size());
  }
  return count;
}

Expected<std::vector<Handle>> parse_handles(std::string_view text) {
  if (text.empty()) return fail(ErrorCode::InvalidArgument, "'': names no job");
  const auto commas = static_cast<std::size_t>(std::ranges::count(text, ','));
  if (commas >= kMostHandles) {
    return wrong(text, "is a list of " + std::to_string(commas + 1) + ", the most is " +
                           std::to_string(kMostHandles));
  }
  std::vector<Handle> handles;
  for (const std::string_view part : parts_of(text)) {
    auto one = parse_one(part);
    if (!one) return std::unexpected(one.error());
    if (!*one) return name_of(text);
    const auto* const before =
        handles.empty() ? nullptr : std::get_if<TasksOfArray>(&handles.back().what);
    if (before != nullptr && std::holds_alternative<NumberedJobs>((*one)->what)) {
      const std::string array = std::to_string(before->array.value());
      return wrong(text, std::string("may mean job ")
                             .append(part)
                             .append(" or a task of array ")
                             .append(array)
                             .append("; write ")
                             .append(array)
                             .append("_[1,3] for tasks, and numbers of jobs first"));
    }
    handles.push_back(std::move(**one));
  }
  return handles;
}

std::optional<ArraySpan> array_of(JobId job, const ArrayPlace& place) {
  if (place.tasks <= 0) return std::nullopt;
  const auto more = static_cast<std::uint64_t>(place.tasks - 1);
  const ArraySpan span{place.first, JobId(place.first.value() + more)};
  return span.has(job) ? std::optional(span) : std::nullopt;
}

std::string handle_of(JobId job, const ArrayPlace& place) {
  if (!array_of(job, place)) return std::to_string(job.value());
  return std::to_string(place.first.value()) + "_" + std::to_string(place.task);
}

bool is_like(std::string_view text, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t in_pattern = 0;
  std::optional<std::pair<std::size_t, std::size_t>> star;  // behind it, and the text it may take
  while (at < text.size()) {
    const bool is_star = in_pattern < pattern.size() && pattern[in_pattern] == '*';
    const bool fits = !is_star && in_pattern < pattern.size() &&
                      (pattern[in_pattern] == '?' || pattern[in_pattern] == text[at]);
    if (is_star) {
      star = {++in_pattern, at};
    } else if (fits) {
      ++in_pattern, ++at;
    } else if (star) {
      in_pattern = star->first;
      at = ++star->second;
    } else {
      return false;
    }
  }
  return pattern.substr(in_pattern).find_first_not_of('*') == std::string_view::npos;
}

std::string_view array_name(std::string_view name, const ArrayPlace& place) {
  const std::string suffix = task_name("", place.task, "");
  if (place.tasks == 0) return name;
  if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  for (std::size_t at = name.find(suffix); at != name.npos; at = name.find(suffix, at + 1)) {
    const std::string_view behind = name.substr(at + suffix.size());
    if (behind.starts_with(' ') && parse_point(behind.substr(1))) return name.substr(0, at);
  }
  return name;
}

}  // namespace berth
