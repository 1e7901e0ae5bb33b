// Files of rows and columns, and errors that name file, line, column and value.
//
// For the plain files of trace repositories: no quoting; LF or CR LF; blank lines are skipped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/time.hpp"

namespace berth::trace {

/// What a file's times are counted in.
struct TimeUnit {
  Duration size;
  std::string_view name;
};
inline constexpr TimeUnit kSeconds{seconds(1), "seconds"};
inline constexpr TimeUnit kMilliseconds{Duration(1000), "milliseconds"};
inline constexpr TimeUnit kMinutes{minutes(1), "minutes"};

struct Layout {
  char separator = ',';  ///< A blank stands for any run of blanks.
  char comment = '\0';   ///< Lines that begin with it are skipped; 0: there are none.
  std::vector<std::string_view> header = {};  ///< The columns; none: the first line names them.
};

class Csv {
 public:
  /// Takes the first line as header unless the layout has one. Errors: BadData if there is none.
  static Expected<Csv> open(std::string_view text, std::string_view file,
                            const Layout& layout = {});

  /// Errors: BadData if the header has no such column.
  Expected<std::size_t> column(std::string_view name) const;
  /// Nothing if the header has no such column.
  std::optional<std::size_t> find(std::string_view name) const;

  /// Moves to the next row. Returns: false at the end. Errors: BadData for a row with more or fewer
  /// fields than the header; the row after it can still be read.
  Expected<bool> next();

  std::string_view field(std::size_t column) const { return fields_[column]; }
  /// Errors: BadData unless the field is an integer in [low, high].
  Expected<std::int64_t> integer(std::size_t column, std::int64_t low, std::int64_t high) const;
  /// Errors: BadData unless the field is a decimal number from 0 to `most`.
  Expected<std::int64_t> millionths(std::size_t column, std::int64_t most) const;
  /// A non-negative time of a century at most, to the microsecond. Errors: BadData otherwise.
  Expected<Duration> duration(std::size_t column, const TimeUnit& unit = kSeconds) const;

  /// `file:line: column 'x': 'value', expected WHAT`.
  Error error(std::size_t column, std::string_view expected) const;

  std::string_view file() const { return file_; }

 private:
  std::optional<std::string_view> line();
  void split(std::string_view line, std::vector<std::string_view>& out) const;

  std::string_view rest_;
  std::string file_;
  Layout layout_;
  std::size_t line_ = 0;
  std::vector<std::string_view> header_;
  std::vector<std::string_view> fields_;
};

}  // namespace berth::trace
