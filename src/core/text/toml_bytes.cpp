#include "core/text/toml_bytes.hpp"

#include <algorithm>
#include <string>

namespace berth {

namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kBare =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";

bool is_foreign(char c) { return static_cast<unsigned char>(c) >= 0x80; }

/// Less what it begins with of these.
std::string_view after(std::string_view text, std::string_view any_of) {
  return text.substr(std::min(text.find_first_not_of(any_of), text.size()));
}

/// `# comment`, or nothing.
bool is_comment(std::string_view line) { return line.empty() || line.front() == '#'; }

/// `key = "text"`, a comment behind it or not. A text with escapes is left out: it is rare, and
/// where it ends is then a question of its own.
bool is_key_and_text(std::string_view line) {
  const std::string_view rest = after(after(line, kBare), kBlanks);
  if (rest.size() == line.size() || !rest.starts_with('=')) return false;
  const std::string_view value = after(rest.substr(1), kBlanks);
  if (!value.starts_with('"') && !value.starts_with('\'')) return false;
  const std::size_t end = value.find(value.front(), 1);
  if (end == std::string_view::npos || value.substr(0, end).contains('\\')) return false;
  return is_comment(after(value.substr(end + 1), kBlanks));
}

std::unexpected<Error> refusal(std::string_view file, std::size_t line, std::size_t column) {
  return fail(ErrorCode::BadData, std::string(file) + ":" + std::to_string(line) + ":" +
                                      std::to_string(column) +
                                      ": more than ASCII may stand in comments and in lines like "
                                      "KEY = \"TEXT\"");
}

}  // namespace

Expected<void> check_toml_bytes(std::string_view text, std::string_view file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // as editors of Windows write it
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const bool is_long = text.contains("\"\"\"") || text.contains("'''");
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto foreign = std::ranges::find_if(line, is_foreign);
    if (foreign == line.end()) continue;
    const std::string_view words = after(line, kBlanks);
    if (!is_long && (is_comment(words) || is_key_and_text(words))) continue;
    return refusal(file, number, static_cast<std::size_t>(foreign - line.begin()) + 1);
  }
  return {};
}

}  // namespace berth
