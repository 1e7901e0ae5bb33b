// Lists in texts of other programs.
#pragma once

#include <string_view>
#include <vector>

namespace berth {

/// The parts of `gpu:a100:4(S:0-1,3),shard:8` between commas that are not in parentheses. An empty
/// text is one empty part. O(text).
std::vector<std::string_view> split_outside_parentheses(std::string_view text);

}  // namespace berth
