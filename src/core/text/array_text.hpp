// The numbers of an array's jobs as users type them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace berth {

/// `7`, `7-9`, `1-9:2`: numbers of an array's jobs, each `step` above the one before.
struct TaskRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t step = 1;

  bool has(std::int64_t task) const {
    return task >= first && task <= last && (task - first) % step == 0;
  }
  bool operator==(const TaskRange&) const = default;
};
/// Those between commas, up to 10^9 each; nothing for text that is not of this form. The last of a
/// range may be smaller than its first: then it holds none.
std::optional<std::vector<TaskRange>> parse_task_ranges(std::string_view text);

struct ArrayText {
  std::vector<std::int64_t> tasks;  ///< Ascending, each once.
  std::int32_t at_once = 0;         ///< 0: no bound.
};

/// `1-100`, `0,3,7-9`, `1-9:2`, and behind any of them `%8`: at most so many at once. 1 to 4096
/// numbers up to 10^9. Errors: InvalidArgument.
Expected<ArrayText> parse_array(std::string_view text);

}  // namespace berth
