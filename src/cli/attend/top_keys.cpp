#include "cli/attend/top_keys.hpp"

#include <utility>

namespace berth::cli {

namespace {

Special special_of(std::string_view sequence) {
  const char last = sequence.back();
  if (last == 'A') return Special::Up;
  if (last == 'B') return Special::Down;
  if (last == 'H') return Special::Home;
  if (last == 'F') return Special::End;
  if (sequence == "5~") return Special::PageUp;
  if (sequence == "6~") return Special::PageDown;
  if (sequence == "1~" || sequence == "7~") return Special::Home;
  if (sequence == "4~" || sequence == "8~") return Special::End;
  return Special::None;
}

}  // namespace

std::vector<Key> KeyReader::take(std::string_view bytes) {
  std::string text = std::exchange(left_, {}).append(bytes);
  std::vector<Key> keys;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\x1b') {
      keys.push_back({.letter = text[at++]});
      continue;
    }
    const bool has_kind = at + 1 < text.size();
    if (has_kind && text[at + 1] != '[' && text[at + 1] != 'O') {
      ++at;  // an escape by itself
      continue;
    }
    const std::size_t end = text.find_first_not_of("0123456789;", at + 2);
    if (!has_kind || end == std::string::npos) {
      left_ = text.substr(at);
      break;
    }
    const Special special = special_of(std::string_view(text).substr(at + 2, end - at - 1));
    if (special != Special::None) keys.push_back({.letter = 0, .special = special});
    at = end + 1;
  }
  return keys;
}

}  // namespace berth::cli
