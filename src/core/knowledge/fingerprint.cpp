#include "core/knowledge/fingerprint.hpp"

#include <algorithm>

namespace berth {

std::string without_numbers(std::string_view word) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kWithin = "0123456789.eE+-";
  std::string text;
  for (std::size_t at = 0; at < word.size();) {
    if (!kDigits.contains(word[at])) {
      text += word[at++];
      continue;
    }
    const std::size_t end = std::min(word.find_first_not_of(kWithin, at), word.size());
    at = word.find_last_of(kDigits, end - 1) + 1;
    text += '#';
  }
  return text;
}

FingerprintSum::FingerprintSum(std::uint64_t user) {
  for (int shift = 0; shift < 64; shift += 8) add_byte(static_cast<unsigned char>(user >> shift));
}

void FingerprintSum::add(std::string_view word) {
  for (const char c : word) add_byte(static_cast<unsigned char>(c));
  add_byte(0);
}

void FingerprintSum::add_byte(unsigned char byte) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  sum_ = (sum_ ^ byte) * kPrime;
}

}  // namespace berth
