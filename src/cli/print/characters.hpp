// Text of other users on a terminal: which characters are shown, and how many columns they take.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace berth::cli {

struct Character {
  std::size_t bytes = 1;         ///< What it takes of the text.
  std::optional<char32_t> code;  ///< Nothing for a byte that is not UTF-8.
};

/// The first character of a text that is not empty.
Character first_character(std::string_view text);

/// True for characters that may move the cursor, end a line or reorder what stands beside them:
/// controls (C0, DEL, C1), line and paragraph separators, bidirectional controls.
bool is_unsafe(char32_t code);

/// How many columns a terminal gives it: 0 for what combines with the one before, 2 for wide ones.
std::size_t columns_of(char32_t code);

/// A stream of bytes as a terminal may see it, piece by piece: unsafe characters and bytes that are
/// no UTF-8 become `?`, but for line ends, tabs, carriage returns and colours (`ESC [ ... m`).
class TerminalFilter {
 public:
  std::string take(std::string_view piece);
  /// What was held back because its end was missing.
  std::string rest();

 private:
  std::string left_;  ///< The beginning of a character or of a colour.
};

}  // namespace berth::cli
