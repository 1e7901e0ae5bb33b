#include "core/text/array_text.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "core/base/limits.hpp"
#include "core/text/amounts.hpp"

namespace berth {

namespace {

std::optional<std::int64_t> task_number(std::string_view text) {
  const auto number = parse_count(text, limits::kMostTask);
  return number ? std::optional(*number) : std::nullopt;
}

std::optional<TaskRange> task_range(std::string_view part) {
  const std::size_t colon = part.find(':');
  const auto step = colon == part.npos ? 1 : task_number(part.substr(colon + 1));
  part = part.substr(0, colon);
  const std::size_t dash = part.find('-');
  const auto first = task_number(part.substr(0, dash));
  const auto last = dash == part.npos ? first : task_number(part.substr(dash + 1));
  if (!first || !last || !step || *step < 1) return std::nullopt;
  if (colon != part.npos && dash == part.npos) return std::nullopt;
  return TaskRange{.first = *first, .last = *last, .step = *step};
}

}  // namespace

std::optional<std::vector<TaskRange>> parse_task_ranges(std::string_view text) {
  std::vector<TaskRange> ranges;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const auto range = task_range(text.substr(0, comma));
    if (!range) return std::nullopt;
    ranges.push_back(*range);
    more = comma != text.npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return ranges;
}

Expected<ArrayText> parse_array(std::string_view text) {
  const auto refusal = fail(ErrorCode::InvalidArgument,
                            "is not a list of 1 to " + std::to_string(limits::kMostTasks) +
                                " numbers such as 1-100, 0,3,7-9, 1-9:2 or 1-100%8");
  ArrayText array;
  const std::size_t percent = text.find('%');
  if (percent != text.npos) {
    const auto at_once = parse_count(text.substr(percent + 1), limits::kMostTasks);
    if (!at_once || *at_once == 0) return refusal;
    array.at_once = static_cast<std::int32_t>(*at_once);
    text = text.substr(0, percent);
  }
  const auto ranges = parse_task_ranges(text);
  if (!ranges) return refusal;
  for (const TaskRange& range : *ranges) {
    const bool is_empty = range.last < range.first;
    if (is_empty || (range.last - range.first) / range.step >= limits::kMostTasks) return refusal;
    for (std::int64_t task = range.first; task <= range.last; task += range.step) {
      array.tasks.push_back(task);
    }
    if (array.tasks.size() > static_cast<std::size_t>(limits::kMostTasks)) return refusal;
  }
  std::ranges::sort(array.tasks);
  const bool is_twice = std::ranges::adjacent_find(array.tasks) != array.tasks.end();
  return is_twice ? Expected<ArrayText>(refusal) : array;
}

}  // namespace berth
