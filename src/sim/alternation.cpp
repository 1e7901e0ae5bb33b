#include "sim/alternation.hpp"

#include <algorithm>
#include <bit>

namespace berth::sim {

namespace {

__extension__ using UnsignedWide = unsigned __int128;

constexpr std::uint64_t kLn2 = 0xb17217f8;  ///< ln 2 x 2^32.

/// -log2(u / 2^64) x 2^32: whole part by the leading zeros, 32 places by squaring.
std::uint64_t minus_log2(std::uint64_t u) {
  const int zeros = std::countl_zero(u);
  std::uint64_t mantissa = u << zeros;  // in [1, 2) x 2^63
  std::uint64_t places = 0;
  for (int i = 0; i < 32; ++i) {
    const UnsignedWide square = UnsignedWide{mantissa} * mantissa;  // in [1, 4) x 2^126
    const bool is_two = (square >> 127) != 0;
    places = places << 1 | (is_two ? 1U : 0U);
    mantissa = static_cast<std::uint64_t>(square >> (is_two ? 64 : 63));
  }
  return (static_cast<std::uint64_t>(zeros + 1) << 32) - places;
}

}  // namespace

Duration draw_exponential(Rng& rng, Duration mean) {
  const std::uint64_t u = rng.next() | 1;
  const auto nats = static_cast<std::uint64_t>((UnsignedWide{minus_log2(u)} * kLn2) >> 32);
  const UnsignedWide time = (UnsignedWide{static_cast<std::uint64_t>(micros(mean))} * nats) >> 32;
  return std::max(Duration(1), Duration(static_cast<std::int64_t>(time)));
}

Alternation::Alternation(std::size_t count, const Means& means, std::uint64_t seed,
                         std::uint64_t stream, Instant from)
    : means_(means) {
  if (means.off == kForever) return;
  for (std::uint32_t i = 0; i < count; ++i) {
    each_.push_back({.rng = Rng(seed, stream + i)});
    next_.emplace(later(from, draw_exponential(each_[i].rng, means.off)), i);
  }
}

std::optional<Alternation::Change> Alternation::take(Instant now) {
  if (next() > now) return std::nullopt;
  const auto [at, which] = *next_.begin();
  next_.erase(next_.begin());
  One& one = each_[which];
  one.on = !one.on;
  if (one.on) {
    ++on_;
  } else {
    --on_;
  }
  next_.emplace(later(at, draw_exponential(one.rng, one.on ? means_.on : means_.off)), which);
  return Change{which, one.on};
}

}  // namespace berth::sim
