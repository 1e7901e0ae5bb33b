// Time as data: instants and durations on a clock that cannot be read.
//
// Everything below the shells receives `now` as a value. EngineClock has no now(), so code that
// tries to read the time does not compile. Resolution is one microsecond; the range is +-292,000
// years.
#pragma once

#include <chrono>
#include <cstdint>

namespace berth {

struct EngineClock {
  using rep = std::int64_t;
  using period = std::micro;
  using duration = std::chrono::duration<rep, period>;
  using time_point = std::chrono::time_point<EngineClock>;
  static constexpr bool is_steady = true;
};

using Duration = EngineClock::duration;
using Instant = EngineClock::time_point;

inline constexpr Instant kStart{};                 ///< The origin: trace start, or the first boot.
inline constexpr Instant kNever = Instant::max();  ///< "No bound is known."
inline constexpr Duration kForever = Duration::max();

constexpr Duration seconds(std::int64_t count) { return std::chrono::seconds(count); }
constexpr Duration minutes(std::int64_t count) { return std::chrono::minutes(count); }
constexpr Duration hours(std::int64_t count) { return std::chrono::hours(count); }

constexpr std::int64_t micros(Duration duration) { return duration.count(); }
constexpr std::int64_t micros(Instant instant) { return instant.time_since_epoch().count(); }
constexpr Instant instant_from_micros(std::int64_t count) { return Instant(Duration(count)); }

/// `from + by`, or kNever if either is "no bound" or the sum would overflow.
constexpr Instant later(Instant from, Duration by) {
  const bool overflows = by > Duration::zero() && from > Instant::max() - by;
  return from == kNever || by == kForever || overflows ? kNever : from + by;
}

}  // namespace berth
