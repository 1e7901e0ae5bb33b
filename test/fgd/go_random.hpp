// The numbers that Go's math/rand draws after rand.Seed: an additive lagged Fibonacci generator.
//
// The authors of FGD shuffled their tasks and nodes with it, so their runs can be run again only
// with the same numbers. Go seeds it from a table of 607 numbers, the generator's own state after
// 7.8e12 steps; here the table is computed by jumping ahead.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace berth::fgd {

class GoRandom {
 public:
  explicit GoRandom(std::int64_t seed);

  std::int64_t int63() { return static_cast<std::int64_t>(uint64() << 1 >> 1); }
  /// Intn. Requires: 0 < n < 2^31.
  std::int32_t below(std::int32_t n);
  /// Shuffle.
  template <class T>
  void shuffle(std::vector<T>& all) {
    for (std::size_t i = all.size(); i > 1; --i) {
      std::swap(all[i - 1], all[shuffle_below(static_cast<std::uint32_t>(i))]);
    }
  }
  /// Perm.
  std::vector<std::size_t> permutation(std::size_t n);

 private:
  static constexpr std::size_t kLength = 607;
  static constexpr std::size_t kTap = 273;

  std::uint64_t uint64();
  std::uint32_t shuffle_below(std::uint32_t n);

  std::array<std::uint64_t, kLength> state_{};
  std::size_t tap_ = 0;
  std::size_t feed_ = kLength - kTap;
};

}  // namespace berth::fgd
