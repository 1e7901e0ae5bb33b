#include "core/base/suggest.hpp"

#include <algorithm>
#include <vector>

namespace berth {

std::size_t typing_errors(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> errors(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        errors[i][j] = i + j;
        continue;
      }
      const std::size_t changed = a[i - 1] == b[j - 1] ? 0 : 1;
      std::size_t least =
          std::min({errors[i - 1][j] + 1, errors[i][j - 1] + 1, errors[i - 1][j - 1] + changed});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) least = std::min(least, errors[i - 2][j - 2] + 1);
      errors[i][j] = least;
    }
  }
  return errors[a.size()][b.size()];
}

namespace {

/// The only one that begins so: `time` of `time_limit_seconds`.
const std::string* only_longer(std::string_view typed, std::span<const std::string> words) {
  constexpr std::size_t kFewest = 3;
  if (typed.size() < kFewest) return nullptr;
  const std::string* found = nullptr;
  for (const std::string& word : words) {
    if (!word.starts_with(typed)) continue;
    if (found != nullptr) return nullptr;
    found = &word;
  }
  return found;
}

}  // namespace

std::string nearest(std::string_view typed, std::span<const std::string> words) {
  constexpr std::size_t kLongest = 40;
  if (typed.empty() || typed.size() > kLongest) return "";
  const std::string* best = nullptr;
  std::size_t least = std::max<std::size_t>(1, typed.size() / 3) + 1;
  for (const std::string& word : words) {
    const std::size_t errors = typing_errors(typed, word);
    if (errors < least && errors < word.size()) {
      least = errors;
      best = &word;
    }
  }
  if (best == nullptr) best = only_longer(typed, words);
  return best == nullptr ? "" : *best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> words) {
  const std::string word = nearest(typed, words);
  return word.empty() ? "" : "; did you mean " + word + "?";
}

}  // namespace berth
