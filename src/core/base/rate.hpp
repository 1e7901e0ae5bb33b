// The speed of a job relative to its best speed alone, in parts per million, because no floating
// point number may order or end jobs.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

namespace berth {

class Rate {
 public:
  static constexpr std::int64_t kWhole = 1'000'000;
  /// Bounds within which times at a rate fit 64 bits; no published figure is near either.
  static constexpr std::int64_t kLeast = 1'000;
  static constexpr std::int64_t kMost = 100 * kWhole;

  constexpr Rate() = default;
  /// Brought within the bounds.
  explicit constexpr Rate(std::int64_t ppm) : ppm_(std::clamp(ppm, kLeast, kMost)) {}

  constexpr std::int64_t ppm() const { return ppm_; }
  constexpr auto operator<=>(const Rate&) const = default;

  /// One slow-down on top of another; rounded down.
  friend constexpr Rate operator*(Rate a, Rate b) { return Rate(a.ppm_ * b.ppm_ / kWhole); }

 private:
  std::int64_t ppm_ = kWhole;
};

inline constexpr Rate kFullSpeed{Rate::kWhole};

}  // namespace berth
