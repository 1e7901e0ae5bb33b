// Tables of two columns, names and numbers, that people write with a first line of headings or
// without.
#pragma once

#include <string_view>

namespace berth::sim {

/// True for what the first line has in place of a number, if it is one of headings.
inline bool is_heading(std::string_view field) {
  return field.find_first_of("0123456789") == std::string_view::npos;
}

}  // namespace berth::sim
