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

void run(ClockReading& reading, std::uint64_t virtual_time, std::uint64_t tenants) {
  const auto real = virtual_time * tenants;
  reading.virtual_nanoseconds += virtual_time;
  reading.real_nanoseconds += real;
  reading.busy_nanoseconds += real;
}

}  // namespace

ClockReading advance(ClockReading reading, std::span<const std::uint64_t> finishes,
                     std::uint64_t now) {
  const auto ahead = ahead_of(reading.virtual_nanoseconds, finishes);
  for (std::size_t ended = 0; ended < ahead.size(); ++ended) {
    if (reading.real_nanoseconds >= now) return reading;
    const auto tenants = ahead.size() - ended;
    const auto step = ahead[ended] - reading.virtual_nanoseconds;
    const auto possible = (now - reading.real_nanoseconds) / tenants;
    run(reading, std::min(step, possible), tenants);
    if (possible < step) return reading;
  }
  reading.real_nanoseconds =
      std::max(reading.real_nanoseconds, now);  // idle: only real time passes
  return reading;
}

std::uint64_t real_time_of(ClockReading reading, std::span<const std::uint64_t> finishes,
                           std::uint64_t target) {
  const auto ahead = ahead_of(reading.virtual_nanoseconds, finishes);
  for (std::size_t ended = 0; ended < ahead.size(); ++ended) {
    if (reading.virtual_nanoseconds >= target) break;
    const auto until = std::min(ahead[ended], target);
    run(reading, until - reading.virtual_nanoseconds, ahead.size() - ended);
  }
  return reading.real_nanoseconds;
}

}  // namespace berth::emu
