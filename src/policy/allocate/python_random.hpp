// The random numbers of CPython's `random.Random(seed)`, for policies that must draw as a published
// artefact draws.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace berth {

/// MT19937 (Matsumoto and Nishimura, ACM TOMACS 1998), seeded as CPython seeds it with an integer
/// below 2^32. A value type: what follows is a function of its state.
class PythonRandom {
 public:
  explicit PythonRandom(std::uint32_t seed);

  /// Uniform below `n`: bits of one number after the other until they are below it. Requires: n is
  /// from 1 to 2^32 - 1.
  std::uint32_t below(std::uint32_t n);
  /// The positions of `random.sample(list, 2)` in a list of so many, in order. Requires: n >= 2.
  std::pair<std::uint32_t, std::uint32_t> two_of(std::uint32_t n);

  /// False for a state that no seed leads to.
  bool is_sane() const { return words_.size() == kWords && next_ <= kWords; }
  friend auto members(PythonRandom& v) { return std::tie(v.words_, v.next_); }

 private:
  static constexpr std::size_t kWords = 624;
  std::uint32_t next();
  void turn();

  std::vector<std::uint32_t> words_;
  std::uint32_t next_ = kWords;  ///< The word that is given next; kWords: of new ones.
};

}  // namespace berth
