// `name=value,name=value`, as options of several parts are written.
#pragma once

#include <algorithm>
#include <string_view>

namespace berth::sim {

/// Calls take(name, value) for every part, with no name where there is no `=`, until it returns
/// false. Returns: whether it never did, and no `=` was without a name.
template <class Take>
bool each_named_value(std::string_view text, Take take) {
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    const std::size_t equals = part.find('=');
    if (equals == 0) return false;
    const bool named = equals != std::string_view::npos;
    const std::string_view name = named ? part.substr(0, equals) : std::string_view();
    if (!take(name, named ? part.substr(equals + 1) : part)) return false;
  }
  return true;
}

}  // namespace berth::sim
