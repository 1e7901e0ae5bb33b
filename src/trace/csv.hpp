// Files of rows and columns, and errors that name file, line, column and value.
//
// For the files of trace repositories and what spreadsheets write: LF or CR LF; lines that are
// blank or hold separators only are skipped. A field between commas may stand in quotes ("a, b",
// and "" for a quote in it), on one line. A carriage return alone does not end a line, and none may
// stand inside one. Where a comma is meant to separate, and the header has none, semicolons or tabs
// do: spreadsheets write semicolons where people write 1,5 for one and a half, and numbers are read
// so then. `sep=;` may stand above the header. Thousands may be grouped: "3,600", 3'600, 3 600.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"

namespace berth::trace {

/// The longest time of a trace: sums of such times stay exact.
inline constexpr Duration kCentury = seconds(100LL * 366 * 24 * 3600);

/// What a file's times are counted in.
struct TimeUnit {
  Duration size;
  std::string_view name;
};
inline constexpr TimeUnit kSeconds{seconds(1), "seconds"};
inline constexpr TimeUnit kMilliseconds{Duration(1000), "milliseconds"};
inline constexpr TimeUnit kMinutes{minutes(1), "minutes"};

/// A decimal number of seconds from 0 to a century, to the microsecond, perhaps with an exponent;
/// nothing for another text.
std::optional<Duration> parse_seconds(std::string_view text);

/// A column that a reader looks for, under the name that a file has for it.
struct ColumnName {
  std::string known;
  std::string in_file;
};

struct Layout {
  char separator = ',';  ///< A blank stands for any run of blanks.
  char comment = '\0';   ///< Lines that begin with it are skipped; 0: there are none.
  std::vector<std::string_view> header = {};  ///< The columns; none: the first line names them.
  std::span<const ColumnName> renamed = {};   ///< By --columns; outlives the Csv.
  /// The column whose texts may hold the separator: what a row has too much is of it.
  std::string_view free_text = {};
  std::string_view time_format = {};  ///< By --time-format, for strptime(); "": none.
};

/// A text from a file as messages show it: 60 bytes of it at most and then `...`, and what is not
/// printable ASCII as `\\x00`, since a terminal may obey it.
std::string shown(std::string_view text);

/// Why this is no text of a table: UTF-16, or a workbook; "" if it may be one.
std::string_view why_no_text(std::string_view text);

/// What a file begins with that is no row: the mark of its encoding, and blank lines. `sep=;` too.
std::string_view without_preface(std::string_view text);

/// True if lines end in a carriage return alone, or one stands inside a line. Requires: no line
/// feed in the text.
bool has_lone_return(std::string_view line);
inline constexpr std::string_view kLoneReturn =
    "a carriage return inside the line; lines must end in LF or CR LF";

class Csv {
 public:
  /// Takes the first line as header unless the layout has one. Errors: BadData if there is none, or
  /// if it names a column twice.
  static Expected<Csv> open(std::string_view text, std::string_view file,
                            const Layout& layout = {});

  /// All names of columns are those that a reader knows; the file may have others for them.
  /// Errors: BadData if the header has no such column.
  Expected<std::size_t> column(std::string_view name) const;
  std::span<const std::string_view> header() const { return header_; }
  /// Nothing if the header has no such column.
  std::optional<std::size_t> find(std::string_view name) const;

  /// No fewer than there are.
  std::size_t most_rows_left() const;

  std::span<const ColumnName> renamed() const { return layout_.renamed; }
  std::string_view name_in_file(std::string_view name) const;

  /// Moves to the next row. Returns: false at the end. Errors: BadData for a row with more or fewer
  /// fields than the header; the row after it can still be read.
  Expected<bool> next();

  std::string_view field(std::size_t column) const { return fields_[column]; }
  /// Empty, or as pandas and R write it: `nan`, `NaN`, `NA`.
  bool is_missing(std::size_t column) const;
  /// `2`, and as pandas writes it `2.0` or `2e+00`. Errors: BadData unless in [low, high].
  Expected<std::int64_t> integer(std::size_t column, std::int64_t low, std::int64_t high) const;
  /// Errors: BadData unless the field is a decimal number from 0 to `most`.
  Expected<std::int64_t> millionths(std::size_t column, std::int64_t most) const;
  /// A non-negative time of a century at most, to the microsecond. Errors: BadData otherwise.
  Expected<Duration> duration(std::size_t column, const TimeUnit& unit = kSeconds) const;

  bool has_time_format() const { return !layout_.time_format.empty(); }
  /// A time of the calendar, by the time format if there is one. Nothing for another text.
  std::optional<Instant> calendar(std::size_t column) const;
  /// `a time of the form %d.%m.%Y`, or else `a time such as` the example.
  std::string expected_time(std::string_view example) const;

  /// `file:line: column 'x': 'value', expected WHAT`.
  Error error(std::size_t column, std::string_view expected) const;

  std::string_view file() const { return file_; }
  /// Of the row, or of the header before the first row; from 1.
  std::size_t line_number() const { return line_; }
  /// `file:line`.
  std::string place() const;

 private:
  void choose_separator(std::string_view header);
  /// A number as people write it in a spreadsheet, as programs do; nothing if it is so already.
  std::optional<std::string> plain_number(std::string_view text) const;
  bool is_blank_row() const;

  /// The next line that is not blank and no comment; nothing at the end. Errors: BadData.
  Expected<std::optional<std::string_view>> line();
  Expected<void> check_header() const;
  Expected<void> check_renamed() const;
  Expected<void> split(std::string_view line, std::vector<std::string_view>& out);
  Expected<std::string_view> unquoted(std::string_view& line);
  void join_free_text();

  std::string_view rest_;
  std::string file_;
  Layout layout_;
  bool has_quotes_ = false;  ///< Fields may stand in quotes.
  std::size_t line_ = 0;
  std::size_t header_line_ = 1;
  std::vector<std::string_view> header_;
  std::vector<std::string_view> fields_;
  std::deque<std::string> doubled_;  ///< Fields with a quote in them, of the header and the row.
  std::size_t header_doubled_ = 0;
};

}  // namespace berth::trace
