// The numbers of an array's jobs as users type them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace berth {

struct ArrayText {
  std::vector<std::int64_t> tasks;  ///< Ascending, each once.
  std::int32_t at_once = 0;         ///< 0: no bound.
};

/// `1-100`, `0,3,7-9`, `1-9:2`, and behind any of them `%8`: at most so many at once. 1 to 4096
/// numbers up to 10^9. Errors: InvalidArgument.
Expected<ArrayText> parse_array(std::string_view text);

}  // namespace berth
