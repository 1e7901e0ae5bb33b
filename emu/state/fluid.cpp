#include "emu/state/fluid.hpp"

#include <algorithm>
#include <vector>

namespace berth::emu {
namespace {

/// Finishes still ahead, earliest first.
std::vector<std::uint64_t> ahead_of(std::uint64_t virtual_time,
                                    std::span<const std::uint64_t> finishes) {
  std::vector<std::uint64_t> ahead;
  for (const auto finish : finishes) {
    if (finish > virtual_time) ahead.push_back(finish);
  }
  std::ranges::sort(ahead);
  return ahead;
}

__extension__ using Product = unsigned __int128;

/// Real time that a unit of virtual time takes, in parts of which `speed_percent` are one.
Product cost_of(std::uint64_t tenants, Pace pace) {
  return Product{tenants} * (100 + Product{tenants - 1} * pace.interference_percent);
}

/// A part of a nanosecond counts as one: what has run never took less than it did.
void run(ClockReading& reading, std::uint64_t virtual_time, Product cost, Pace pace) {
  const Product parts = pace.speed_percent;
  const auto real = static_cast<std::uint64_t>((virtual_time * cost + parts - 1) / parts);
  reading.virtual_nanoseconds += virtual_time;
  reading.real_nanoseconds += real;
  reading.busy_nanoseconds += real;
}

}  // namespace

ClockReading advance(ClockReading reading, std::span<const std::uint64_t> finishes,
                     std::uint64_t now, Pace pace) {
  const auto ahead = ahead_of(reading.virtual_nanoseconds, finishes);
  for (std::size_t ended = 0; ended < ahead.size(); ++ended) {
    if (reading.real_nanoseconds >= now) return reading;
    const auto cost = cost_of(ahead.size() - ended, pace);
    const auto step = ahead[ended] - reading.virtual_nanoseconds;
    const auto possible = static_cast<std::uint64_t>(Product{now - reading.real_nanoseconds} *
                                                     pace.speed_percent / cost);
    run(reading, std::min(step, possible), cost, pace);
    if (possible < step) return reading;
  }
  reading.real_nanoseconds =
      std::max(reading.real_nanoseconds, now);  // idle: only real time passes
  return reading;
}

std::uint64_t real_time_of(ClockReading reading, std::span<const std::uint64_t> finishes,
                           std::uint64_t target, Pace pace) {
  const auto ahead = ahead_of(reading.virtual_nanoseconds, finishes);
  for (std::size_t ended = 0; ended < ahead.size(); ++ended) {
    if (reading.virtual_nanoseconds >= target) break;
    const auto until = std::min(ahead[ended], target);
    run(reading, until - reading.virtual_nanoseconds, cost_of(ahead.size() - ended, pace), pace);
  }
  return reading.real_nanoseconds;
}

}  // namespace berth::emu
