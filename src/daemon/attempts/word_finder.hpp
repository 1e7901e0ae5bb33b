// Finds many words in a text in one pass.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::daemon {

class WordFinder {
 public:
  using Word = std::uint16_t;

  /// Returns: its number, from 0 on; a word that is known keeps its own. Requires: not empty, at
  /// most 65,535 words.
  Word add(std::string_view word);
  std::string_view text(Word word) const { return words_[word].text; }

  /// Calls `found(word, at)` wherever a word stands, from the text's beginning on. O(length), and
  /// what words with the same first letters cost where they stand.
  template <class Found>
  void find_in(std::string_view text, Found found) const {
    for (std::size_t at = 0; at < text.size(); ++at) {
      for (const Word word : short_) {
        if (text.substr(at).starts_with(words_[word].text)) found(word, at);
      }
      if (text.size() - at < kHead) continue;
      for (Word word = first_[head_of(text.substr(at))]; word != kNone; word = words_[word].next) {
        if (text.substr(at).starts_with(words_[word].text)) found(word, at);
      }
    }
  }

 private:
  static constexpr std::size_t kHead = 3;  ///< Letters by which a word is looked up.
  static constexpr std::size_t kHeads = std::size_t{1} << 15;
  static constexpr Word kNone = 0xFFFF;

  /// Requires: kHead letters at least.
  static std::size_t head_of(std::string_view text) {
    const auto low_bits = [&](std::size_t at) { return static_cast<unsigned>(text[at]) & 31U; };
    return low_bits(0) | low_bits(1) << 5U | low_bits(2) << 10U;
  }

  struct Known {
    std::string text;
    Word next = kNone;  ///< Of those with the same head.
  };
  std::vector<Known> words_;
  std::vector<Word> short_;  ///< Those without a head.
  std::vector<Word> first_ = std::vector<Word>(kHeads, kNone);
};

}  // namespace berth::daemon
