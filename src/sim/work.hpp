// The remaining work of a job, in exact integer arithmetic: time at full speed, and the time that
// it takes at another rate.
#pragma once

#include <cstdint>

#include "core/base/rate.hpp"
#include "core/base/time.hpp"

namespace berth::sim {

/// Microseconds at full speed and millionths of one, so that no rate is ever rounded away. A value
/// type.
class Work {
 public:
  Work() = default;
  explicit constexpr Work(Duration at_full_speed) : whole_(micros(at_full_speed)) {}

  /// Subtracts the work of `time` at `rate`; never below zero.
  constexpr void advance(Duration time, Rate rate) {
    const std::int64_t whole = micros(time) / Rate::kWhole * rate.ppm();
    const std::int64_t rest = micros(time) % Rate::kWhole * rate.ppm();
    whole_ -= whole + rest / Rate::kWhole;
    millionths_ -= rest % Rate::kWhole;
    if (millionths_ < 0) {
      millionths_ += Rate::kWhole;
      --whole_;
    }
    if (whole_ < 0) whole_ = millionths_ = 0;
  }

  /// How long the rest takes at `rate`, rounded up to the microsecond.
  constexpr Duration time_at(Rate rate) const {
    const std::int64_t quotient = whole_ / rate.ppm();
    const std::int64_t rest = whole_ % rate.ppm() * Rate::kWhole + millionths_;
    return Duration(quotient * Rate::kWhole + (rest + rate.ppm() - 1) / rate.ppm());
  }

  /// How long at `rate` until no more than `left` is left. Requires: no more than that is.
  constexpr Duration time_until(Duration left, Rate rate) const {
    Work part = *this;
    part.whole_ -= micros(left);
    return part.time_at(rate);
  }

  /// At full speed, rounded up.
  constexpr Duration left() const { return Duration(whole_ + (millionths_ > 0 ? 1 : 0)); }

  constexpr bool operator==(const Work&) const = default;

 private:
  std::int64_t whole_ = 0;
  std::int64_t millionths_ = 0;  ///< 0 to 999,999.
};

}  // namespace berth::sim
