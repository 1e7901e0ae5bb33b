#include "core/text/file_pattern.hpp"

#include <algorithm>

namespace berth {

namespace {

constexpr std::string_view kDigits = "0123456789";

}  // namespace

std::string fill_pattern(std::string_view pattern, const PatternMeaning& meaning_of) {
  std::string filled;
  while (!pattern.empty()) {
    const std::size_t percent = std::min(pattern.find('%'), pattern.size());
    filled += pattern.substr(0, percent);
    pattern.remove_prefix(percent);
    if (pattern.empty()) break;
    const std::size_t at = pattern.find_first_not_of(kDigits, 1);
    const auto meaning =
        at == pattern.npos ? std::nullopt : meaning_of(pattern[at], pattern.substr(1, at - 1));
    filled += meaning.value_or("%");
    pattern.remove_prefix(meaning ? at + 1 : 1);
  }
  return filled;
}

std::string zero_padded(std::int64_t number, std::string_view width) {
  constexpr std::size_t kMostDigits = 10;
  std::size_t digits = 0;
  for (const char c : width) digits = std::min(kMostDigits, digits * 10 + kDigits.find(c));
  const std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

}  // namespace berth
