// Comma-separated files with a header line, and errors that name file, line, column and value.
//
// For the plain files of trace repositories: no quoting; LF or CR LF; empty lines are skipped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/time.hpp"

namespace berth::trace {

class Csv {
 public:
  /// Takes the first line as header. Errors: BadData if there is none.
  static Expected<Csv> open(std::string_view text, std::string_view file);

  /// Errors: BadData if the header has no such column.
  Expected<std::size_t> column(std::string_view name) const;

  /// Moves to the next row. Returns: false at the end. Errors: BadData for a row with more or fewer
  /// fields than the header.
  Expected<bool> next();

  std::string_view field(std::size_t column) const { return fields_[column]; }
  /// Errors: BadData unless the field is an integer in [low, high].
  Expected<std::int64_t> integer(std::size_t column, std::int64_t low, std::int64_t high) const;
  /// A non-negative number of seconds, to the microsecond. Errors: BadData otherwise.
  Expected<Duration> duration(std::size_t column) const;

  /// `file:line: column 'x': 'value', expected WHAT`.
  Error error(std::size_t column, std::string_view expected) const;

 private:
  std::optional<std::string_view> line();

  std::string_view rest_;
  std::string file_;
  std::size_t line_ = 0;
  std::vector<std::string_view> header_;
  std::vector<std::string_view> fields_;
};

}  // namespace berth::trace
