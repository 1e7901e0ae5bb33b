#include "daemon/attempts/word_finder.hpp"

#include <algorithm>
#include <utility>

#include "core/base/assert.hpp"

namespace berth::daemon {

WordFinder::Word WordFinder::add(std::string_view word) {
  BERTH_ASSERT(!word.empty() && words_.size() < kNone);
  const auto known = std::ranges::find(words_, word, &Known::text);
  if (known != words_.end()) return static_cast<Word>(known - words_.begin());
  const auto number = static_cast<Word>(words_.size());
  words_.push_back({.text = std::string(word)});
  if (word.size() < kHead) {
    short_.push_back(number);
  } else {
    words_.back().next = std::exchange(first_[head_of(word)], number);
  }
  return number;
}

}  // namespace berth::daemon
