#include "core/account.hpp"

#include <array>

#include "core/base/assert.hpp"
#include "core/base/wide.hpp"

namespace berth {

namespace {

constexpr int kOneBits = 62;
constexpr std::int64_t kOne = std::int64_t{1} << kOneBits;
constexpr int kFractionBits = 48;  // so that short intervals count: services are settled often
constexpr std::int64_t kInverseLn2Q32 = 6'196'328'019;  // 2^32 / ln 2

constexpr std::int64_t multiply_q62(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>((Wide{a} * b) >> kOneBits);
}

/// Integer square root of a 124-bit product, by bits: sqrt(value * 2^62).
constexpr std::int64_t sqrt_q62(std::int64_t value) {
  const Wide wanted = Wide{value} << kOneBits;
  Wide root = 0;
  for (int bit = kOneBits; bit >= 0; --bit) {
    const Wide tried = root | (Wide{1} << bit);
    if (tried * tried <= wanted) root = tried;
  }
  return static_cast<std::int64_t>(root);
}

/// kDecay[b][v] = 2^(-v / 256^(b + 1)) in units of 2^-62: one factor for each byte of a fraction.
constexpr auto kDecay = [] {
  std::array<std::array<std::int64_t, 256>, kFractionBits / 8> table{};
  std::int64_t halving = kOne / 2;  // 2^-1, then 2^-(1/2), 2^-(1/4), ...
  for (auto& row : table) {
    row[0] = kOne;
    for (std::size_t bit = 128; bit > 0; bit /= 2) {
      halving = sqrt_q62(halving);
      for (std::size_t v = 0; v < 256; v += 2 * bit) row[v + bit] = multiply_q62(row[v], halving);
    }
  }
  return table;
}();

}  // namespace

std::int64_t decay_q62(Duration elapsed, Duration half_life) {
  BERTH_ASSERT(elapsed >= Duration::zero() && half_life > Duration::zero());
  const std::int64_t halvings = elapsed / half_life;
  if (halvings >= kOneBits) return 0;
  const Wide rest = Wide{micros(elapsed % half_life)} << kFractionBits;
  const auto fraction = static_cast<std::uint64_t>(rest / micros(half_life));
  std::int64_t factor = kOne;
  for (std::size_t byte = 0; byte < kDecay.size(); ++byte) {
    const auto shift = static_cast<unsigned>(kFractionBits) - 8 * (static_cast<unsigned>(byte) + 1);
    const std::size_t value = fraction >> shift & 255;
    if (value != 0) factor = multiply_q62(factor, kDecay[byte][value]);
  }
  return factor >> halvings;
}

ShareSeconds Account::service_at(Instant now, Duration half_life) const {
  if (service.raw() == 0 && share_ppb == 0) return ShareSeconds(0);
  const std::int64_t kept = decay_q62(now - as_of, half_life);
  const Wide old = (Wide{service.raw()} * kept) >> kOneBits;
  // The integral of share * 2^(-t / H) over [0, T] is share * H / ln 2 * (1 - 2^(-T / H)).
  const Wide full = (Wide{micros(half_life)} * kInverseLn2Q32) >> 32;
  const Wide fresh = ((full * share_ppb / 1'000'000) * (kOne - kept)) >> kOneBits;
  return ShareSeconds(static_cast<std::int64_t>(old + fresh));
}

void Account::settle(Instant now, Duration half_life) {
  service = service_at(now, half_life);
  as_of = now;
}

}  // namespace berth
