// Amounts with a unit. A wrong unit does not compile; raw numbers appear only at parse and print.
//
// Quantity is a 64-bit integer with a tag. Amounts of one unit add and compare; a plain integer
// scales them; two of a kind divide to a plain integer. Anything else is named here, once.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "core/base/time.hpp"

namespace berth {

template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  explicit constexpr Quantity(std::int64_t raw) : raw_(raw) {}

  constexpr std::int64_t raw() const { return raw_; }
  constexpr auto operator<=>(const Quantity&) const = default;

  constexpr Quantity& operator+=(Quantity other) {
    raw_ += other.raw_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    raw_ -= other.raw_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.raw_ + b.raw_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.raw_ - b.raw_); }
  friend constexpr Quantity operator*(Quantity a, std::int64_t n) { return Quantity(a.raw_ * n); }
  friend constexpr Quantity operator*(std::int64_t n, Quantity a) { return Quantity(a.raw_ * n); }
  friend constexpr std::int64_t operator/(Quantity a, Quantity b) { return a.raw_ / b.raw_; }
  friend constexpr Quantity operator%(Quantity a, Quantity b) { return Quantity(a.raw_ % b.raw_); }

 private:
  std::int64_t raw_ = 0;
};

using Bytes = Quantity<struct BytesTag>;        ///< Memory, host or GPU.
using GpuCount = Quantity<struct GpuCountTag>;  ///< Whole GPUs.
using GpuMilli = Quantity<struct GpuMilliTag>;  ///< Compute share of one GPU; 1000 is all of it.
using CpuMilli = Quantity<struct CpuMilliTag>;  ///< Host cores; 1000 is one core.
using GpuTime = Quantity<struct GpuTimeTag>;    ///< GPUs x time, in GPU-microseconds.

inline constexpr GpuMilli kWholeGpu{1000};

/// The product, at most the largest service, because estimates may be absurd.
constexpr GpuTime operator*(GpuCount gpus, Duration time) {
  std::int64_t product = 0;
  const bool overflows = __builtin_mul_overflow(gpus.raw(), micros(time), &product);
  return GpuTime(overflows ? std::numeric_limits<std::int64_t>::max() : product);
}

/// The sum, at most the largest service.
constexpr GpuTime sum_of(GpuTime a, GpuTime b) {
  std::int64_t sum = 0;
  const bool overflows = __builtin_add_overflow(a.raw(), b.raw(), &sum);
  return GpuTime(overflows ? std::numeric_limits<std::int64_t>::max() : sum);
}

/// The time `gpus` need to receive `service`, rounded up. Requires: gpus > 0.
constexpr Duration ceil_div(GpuTime service, GpuCount gpus) {
  const std::int64_t whole = service.raw() / gpus.raw();
  return Duration(whole + (service.raw() % gpus.raw() > 0 ? 1 : 0));
}

namespace literals {
constexpr Bytes operator""_MiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 20);
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 30);
}
constexpr GpuCount operator""_gpus(unsigned long long n) {
  return GpuCount(static_cast<std::int64_t>(n));
}
}  // namespace literals

}  // namespace berth
