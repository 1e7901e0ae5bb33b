// The output of verbs: plain in a pipe, with colours and cut lines on a terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cli {

enum class Colour { None, Bold, Dim, Red, Green, Yellow, Blue, Magenta };

/// How a descriptor's reader sees text.
struct Look {
  bool terminal = false;
  bool colour = false;               ///< A terminal, and neither NO_COLOR nor TERM=dumb.
  std::optional<std::size_t> width;  ///< Columns; nothing where lines are not cut.
};

/// From now on this process ends, as by SIGPIPE, once nobody can read its standard output: of
/// `berth logs -f 7 | grep -m1 http` the next line may be long in coming.
void leave_with_reader();

Look look_of(int descriptor);

std::string painted(std::string_view text, Colour colour, const Look& look);

/// Unsafe characters (characters.hpp) as `?`: a name is data, and must not move the reader's cursor
/// or turn the line around.
std::string printable(std::string_view text);

/// Columns it takes on a terminal.
std::size_t columns_of(std::string_view text);

/// At most this many columns, the last then `…`.
std::string cut(std::string_view text, std::size_t columns);

struct Cell {
  std::string text;
  Colour colour = Colour::None;
  std::string longer = {};  ///< Of the last column, instead of the text where a line has room.
};

enum class Align { Left, Right };
/// With blanks up to so many columns.
std::string padded(const std::string& text, std::size_t width, Align align);

/// Aligned columns, two spaces between them. Where they are wider than the terminal, columns are
/// narrowed or left out as they allow, and the last one is broken into lines: none of its text is
/// lost. A long table can be written in parts.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::Left;
    std::size_t least = 0;  ///< It may be cut to this many columns; 0: never.
    int drop = 0;           ///< It may be left out, of several the largest first; 0: never.
  };

  /// What becomes of text of the last column that is wider than the terminal.
  enum class Rest { Wrapped, Cut };

  explicit Table(std::vector<Column> columns, Rest rest = Rest::Wrapped)
      : columns_(std::move(columns)), rest_(rest) {}

  /// Requires: as many cells as columns.
  void add(std::vector<Cell> row) { rows_.push_back({std::move(row), {}}); }
  /// A line of its own between rows.
  void add_line(Cell line) { rows_.push_back({{}, std::move(line)}); }
  /// Makes the columns as wide as if these rows, of the same columns, were there: they come later.
  void foresee(Table rows) { foreseen_ = std::move(rows.rows_); }
  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }
  /// The rows since the last call; the first time below the titles. What is left out is decided at
  /// the first call, and columns never get narrower after it.
  std::string text(const Look& look);

 private:
  struct Row {
    std::vector<Cell> cells;  ///< None: a line.
    Cell line;
  };

  void widen();
  void fit(std::size_t width);
  std::size_t width_before_last() const;
  std::string line_of(const std::vector<Cell>& row, const Look& look) const;

  std::vector<Column> columns_;
  Rest rest_;
  std::vector<std::size_t> widths_;  ///< None before the first call.
  std::vector<bool> shown_;
  std::vector<std::size_t> most_;  ///< Of columns that were narrowed.
  std::vector<Row> rows_;
  std::vector<Row> foreseen_;
};

/// The text in lines of at most so many columns, broken between words where that is possible.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

/// The text with its lines broken between words where they are wider than the terminal. What
/// follows stands below the text behind the line's first gap of two blanks, where that leaves half
/// of the width, else a little further right than the line.
std::string folded(std::string_view text, const Look& look);

/// `key   value` lines, broken between words; those without a value are not shown.
class Page {
 public:
  explicit Page(const Look& look) : look_(look) {}

  void line(const std::string& key, const std::string& value, Colour colour = Colour::None);
  void block(const std::string& title, const std::string& lines);
  const std::string& text() const { return text_; }

 private:
  Look look_;
  std::string text_;
};

/// Writes to standard output. Returns: 0, or kFailed after saying why it cannot be written.
int print(std::string_view text);

}  // namespace berth::cli
