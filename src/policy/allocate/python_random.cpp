#include "policy/allocate/python_random.hpp"

#include <algorithm>
#include <bit>

namespace berth {

PythonRandom::PythonRandom(std::uint32_t seed) : words_(kWords) {
  // init_by_array() of the reference code, with the seed as its only key.
  words_[0] = 19'650'218;
  for (std::uint32_t i = 1; i < kWords; ++i) {
    words_[i] = 1'812'433'253U * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
  }
  std::uint32_t i = 1;
  const auto mix = [&](std::uint32_t factor) {
    return words_[i] ^ ((words_[i - 1] ^ (words_[i - 1] >> 30)) * factor);
  };
  const auto go_on = [&] {
    if (++i < kWords) return;
    words_[0] = words_[kWords - 1];
    i = 1;
  };
  for (std::size_t k = 0; k < kWords; ++k, go_on()) words_[i] = mix(1'664'525U) + seed;
  for (std::size_t k = 1; k < kWords; ++k, go_on()) words_[i] = mix(1'566'083'941U) - i;
  words_[0] = 0x80000000U;
}

void PythonRandom::turn() {
  constexpr std::size_t kApart = 397;
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint32_t y = (words_[i] & 0x80000000U) | (words_[(i + 1) % kWords] & 0x7fffffffU);
    const std::uint32_t odd = (y & 1U) != 0 ? 0x9908b0dfU : 0;
    words_[i] = words_[(i + kApart) % kWords] ^ (y >> 1) ^ odd;
  }
  next_ = 0;
}

std::uint32_t PythonRandom::next() {
  if (next_ == kWords) turn();
  std::uint32_t y = words_[next_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680U;
  y ^= (y << 15) & 0xefc60000U;
  return y ^ (y >> 18);
}

std::uint32_t PythonRandom::below(std::uint32_t n) {
  const auto bits = static_cast<unsigned>(std::bit_width(n));
  std::uint32_t found = n;
  while (found >= n) found = next() >> (32 - bits);
  return found;
}

std::pair<std::uint32_t, std::uint32_t> PythonRandom::two_of(std::uint32_t n) {
  constexpr std::uint32_t kMostAsAPool = 21;
  const std::uint32_t first = below(n);
  if (n <= kMostAsAPool) {
    const std::uint32_t second = below(n - 1);
    return {first, second == first ? n - 1 : second};  // the last took the place of the first
  }
  std::uint32_t second = below(n);
  while (second == first) second = below(n);
  return {first, second};
}

}  // namespace berth
