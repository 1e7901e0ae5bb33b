// Values of TOML files, with where they stand for messages: the common part of the readers.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace berth::trace {

/// Errors: BadData as `FILE:LINE:COLUMN: ...` for what is no TOML.
Expected<toml::table> parse_toml(std::string_view text, std::string_view file);

/// `FILE:LINE:COLUMN` of a value.
std::string place_of(const toml::node& node, std::string_view file);

/// One value of a file. What is not as expected is BadData: `FILE:LINE:COLUMN: KEY: must be ...`.
struct TomlValue {
  const toml::node& node;
  std::string where;  ///< `FILE:LINE:COLUMN: KEY`

  std::unexpected<Error> refuse(const std::string& wanted) const {
    return fail(ErrorCode::BadData, where + ": must be " + wanted);
  }
  Expected<std::int64_t> number(std::int64_t least, std::int64_t most) const;
  /// Whole or with decimals, in thousandths; the bounds are whole.
  Expected<std::int64_t> thousandths(std::int64_t least, std::int64_t most) const;
  Expected<std::string> text() const;  ///< Not empty.
};

/// Stores a value that was read. Errors: what reading it said.
template <class Into, class From>
Expected<void> put(Into& into, const Expected<From>& from) {
  if (!from) return std::unexpected(from.error());
  into = static_cast<Into>(*from);
  return {};
}

}  // namespace berth::trace
