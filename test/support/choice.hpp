// Which of the registered policies or placements a number stands for, for tests that draw one.
//
// Rendezvous hashing (Thaler and Ravishankar, 1998): the one whose name has the largest weight with
// that number. One entry more takes its part of the numbers from all others, and moves none between
// them, so that a seed goes on to mean what it meant.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/rng.hpp"

namespace berth::test {

/// FNV-1a, of 64 bits.
constexpr std::uint64_t hash_of(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325ULL) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

/// `salt` tells draws for different purposes apart.
constexpr std::uint64_t weight_of(std::string_view name, std::string_view salt,
                                  std::uint64_t number) {
  return Rng(hash_of(name, hash_of(salt)), number).next();
}

/// Requires: there are entries.
template <class Entry>
const Entry& chosen(std::span<const Entry> entries, std::string_view salt, std::uint64_t number) {
  return *std::ranges::max_element(
      entries, {}, [&](const Entry& entry) { return weight_of(entry.name, salt, number); });
}

/// The number of 16 bits that stands for this name most firmly: it chooses it unless one of 65,536
/// new names comes.
constexpr std::uint16_t number_of(std::string_view name, std::string_view salt) {
  std::uint16_t best = 0;
  for (std::uint32_t number = 1; number <= 0xffff; ++number) {
    if (weight_of(name, salt, number) <= weight_of(name, salt, best)) continue;
    best = static_cast<std::uint16_t>(number);
  }
  return best;
}

}  // namespace berth::test
