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
};

enum class Align { Left, Right };

/// Aligned columns, two spaces between them. The last is cut to the terminal's width. A long one
/// can be written in parts.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::Left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Requires: as many cells as columns.
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  /// The rows since the last call; the first time below the titles. Columns never get narrower.
  std::string text(const Look& look);

 private:
  void widen();
  std::string line_of(const std::vector<Cell>& row, const Look& look) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;  ///< None before the first call.
  std::vector<std::vector<Cell>> rows_;
};

/// `key   value` lines; those without a value are not shown.
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
