#include "core/base/split.hpp"

#include <algorithm>

namespace berth {

namespace {

std::string_view take(std::string_view& rest, std::size_t end) {
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

}  // namespace

std::string_view next_part(std::string_view& rest, char separator) {
  return take(rest, rest.find(separator));
}

std::string_view next_part_outside_parentheses(std::string_view& rest) {
  std::size_t depth = 0;
  std::size_t end = 0;
  for (; end < rest.size() && (rest[end] != ',' || depth > 0); ++end) {
    if (rest[end] == '(') ++depth;
    if (rest[end] == ')' && depth > 0) --depth;
  }
  return take(rest, end);
}

}  // namespace berth
