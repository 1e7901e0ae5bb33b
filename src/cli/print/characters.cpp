#include "cli/print/characters.hpp"

#include <langinfo.h>
#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace berth::cli {

namespace {

constexpr std::size_t kLongestColour = 32;

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Bytes that a character with this first byte has; 1 for one that begins none.
std::size_t length_of(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte >= 0xC2 && byte < 0xE0) return 2;
  if (byte >= 0xE0 && byte < 0xF0) return 3;
  if (byte >= 0xF0 && byte < 0xF5) return 4;
  return 1;
}

/// The C library's knowledge of characters, in a locale that is there whatever the user's is.
locale_t characters_locale() {
  static const locale_t locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

/// How much of the text is a colour, `ESC [ 1 ; 31 m`; 0 if it begins otherwise, nothing if its end
/// is not there yet.
std::optional<std::size_t> colour_length(std::string_view text) {
  if (text.front() != '\x1b') return 0;
  if (text.size() == 1) return std::nullopt;
  if (text[1] != '[') return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  if (end == std::string_view::npos) {
    return text.size() < kLongestColour ? std::nullopt : std::optional<std::size_t>(0);
  }
  return text[end] == 'm' ? end + 1 : 0;
}

bool is_cut(std::string_view text) {
  return text.size() < length_of(text.front()) && std::ranges::all_of(text.substr(1), continues);
}

}  // namespace

Character first_character(std::string_view text) {
  const std::size_t bytes = length_of(text.front());
  const auto lead = static_cast<unsigned char>(text.front());
  if (bytes == 1) return {1, lead < 0x80 ? std::optional<char32_t>(lead) : std::nullopt};
  if (text.size() < bytes) return {};
  char32_t code = lead & (0xFFU >> (bytes + 1));
  for (const char c : text.substr(1, bytes - 1)) {
    if (!continues(c)) return {};
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  if (code < kLeast[bytes] || code > 0x10FFFF || is_surrogate) return {};
  return {bytes, code};
}

bool is_unsafe(char32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return true;
  constexpr auto kRanges = std::to_array<std::pair<char32_t, char32_t>>({
      {0x061C, 0x061C},  // Arabic letter mark
      {0x200E, 0x200F},  // left-to-right and right-to-left mark
      {0x2028, 0x202E},  // separators, embeddings, overrides
      {0x2066, 0x206F},  // isolates, deprecated controls
      {0xFFF9, 0xFFFB},  // interlinear annotation
  });
  return std::ranges::any_of(
      kRanges, [&](const auto& range) { return code >= range.first && code <= range.second; });
}

std::size_t columns_of(char32_t code) {
  if (code < 0x80) return 1;
  const locale_t locale = characters_locale();
  if (locale == nullptr) return 1;
  const locale_t before = ::uselocale(locale);
  const int columns = ::wcwidth(static_cast<wchar_t>(code));
  ::uselocale(before);
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

std::string TerminalFilter::take(std::string_view piece) {
  const std::string text = std::exchange(left_, {}).append(piece);
  std::string shown;
  for (std::string_view rest = text; !rest.empty();) {
    const auto colour = colour_length(rest);
    if (!colour || is_cut(rest)) {
      left_ = rest;
      break;
    }
    const Character next = first_character(rest);
    const std::size_t bytes = std::max(*colour, next.bytes);
    const bool is_layout = next.code == U'\n' || next.code == U'\t' || next.code == U'\r';
    const bool is_shown = *colour > 0 || is_layout || (next.code && !is_unsafe(*next.code));
    shown.append(is_shown ? rest.substr(0, bytes) : "?");
    rest.remove_prefix(bytes);
  }
  return shown;
}

std::string TerminalFilter::rest() { return std::string(std::exchange(left_, {}).size(), '?'); }

}  // namespace berth::cli
