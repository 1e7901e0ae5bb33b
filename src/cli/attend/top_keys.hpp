// Keys out of the bytes of a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::cli {

enum class Special { None, Up, Down, PageUp, PageDown, Home, End };

struct Key {
  char letter = 0;  ///< 0 for a special one.
  Special special = Special::None;

  bool operator==(const Key&) const = default;
};

/// A sequence may come in pieces. Sequences that are not known are dropped.
class KeyReader {
 public:
  std::vector<Key> take(std::string_view bytes);

 private:
  std::string left_;  ///< The beginning of a sequence.
};

}  // namespace berth::cli
