// Counter-based random numbers: the n-th number of a stream is a function of (seed, n).
//
// SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014). A
// stream can be copied, replayed and split without carrying hidden state around.
#pragma once

#include <cstdint>

#include "core/base/assert.hpp"

namespace berth {

class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed, std::uint64_t stream = 0)
      : state_(mix(seed) ^ mix(stream + kGamma)) {}

  constexpr std::uint64_t next() { return mix(state_ += kGamma); }

  /// Uniform in [low, high]. Requires: low <= high. The bias is below 2^-32 for ranges under 2^32.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    BERTH_ASSERT(low <= high);
    const auto width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    const std::uint64_t offset = width == 0 ? next() : next() % width;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
  }

  /// True once in `n` on average. Requires: n > 0.
  constexpr bool one_in(std::int64_t n) { return between(1, n) == 1; }

 private:
  static constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15ULL;
  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace berth
