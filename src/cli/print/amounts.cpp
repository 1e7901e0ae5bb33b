#include "cli/print/amounts.hpp"

#include <algorithm>

namespace berth::cli {

namespace {

/// How many bytes the UTF-8 sequence at the front has; 0 for none.
std::size_t sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Longer than need be, a surrogate, or above the last code point.
  const bool wrong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F) ||
                     (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F);
  return wrong ? 0 : size;
}

}  // namespace

std::string elapsed_text(double seconds) {
  const auto total = static_cast<std::int64_t>(std::clamp(seconds, 0.0, 1e15));
  const auto pair = [](std::int64_t big, const char* first, std::int64_t small,
                       const char* second) {
    const std::string lead = small < 10 ? "0" : "";
    return std::to_string(big) + first + lead + std::to_string(small) + second;
  };
  if (total < 60) return std::to_string(total) + "s";
  if (total < 3600) return pair(total / 60, "m", total % 60, "s");
  if (total < 86400) return pair(total / 3600, "h", total / 60 % 60, "m");
  return pair(total / 86400, "d", total / 3600 % 24, "h");
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = sequence(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string tight_list(std::string_view typed) {
  std::string list;
  for (std::size_t at = 0; at < typed.size(); ++at) {
    if (typed[at] != ' ') {
      list += typed[at];
      continue;
    }
    const std::size_t end = std::min(typed.find_first_not_of(' ', at), typed.size());
    const bool is_beside =
        list.empty() || list.back() == ',' || end == typed.size() || typed[end] == ',';
    if (!is_beside) list.append(typed.substr(at, end - at));
    at = end - 1;
  }
  return list;
}

}  // namespace berth::cli
