// Lists in texts of other programs.
#pragma once

#include <string_view>

namespace berth {

/// Takes what is before the first separator off a list, and the separator; all of it where there is
/// none. While the rest is not empty there is a next part; behind a last separator there is none.
std::string_view next_part(std::string_view& rest, char separator);

/// The same at commas, as in `gpu:a100:4(S:0-1,3),shard:8`: those in parentheses separate nothing.
std::string_view next_part_outside_parentheses(std::string_view& rest);

}  // namespace berth
