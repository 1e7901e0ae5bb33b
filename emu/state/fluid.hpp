// The arithmetic of time sharing, without a clock: what round-robin slices do as they get short.
//
// A GPU has a virtual time. While n processes have kernels queued it runs at 1/n of real time, with
// none it stands still. A kernel of length L queued on an empty queue at virtual time v ends at
// v + L, so each of the n progresses at 1/n and a lone one at full speed: work-conserving. The
// queue of a process is one number, the virtual time at which it is empty ("finish").
//
// With an interference of p % kernels that share the GPU also slow each other: its virtual time
// runs at 1 / (n (1 + (n - 1) p / 100)). On a GPU of s % speed it runs at s % of all that.
#pragma once

#include <cstdint>
#include <span>

namespace berth::emu {

/// A GPU's clock at one real time. Nanoseconds; `busy` is how long it has been running anything.
struct ClockReading {
  std::uint64_t virtual_nanoseconds = 0;
  std::uint64_t real_nanoseconds = 0;
  std::uint64_t busy_nanoseconds = 0;
};

/// How fast virtual time runs.
struct Pace {
  std::uint32_t interference_percent = 0;
  std::uint32_t speed_percent = 100;
};

/// The clock at `now`, if no kernel is queued in between. A remainder below n nanoseconds stays in
/// `real_nanoseconds` for the next call, so that nothing is lost to rounding; with interference, or
/// another speed, a call may lose one. O(n log n).
ClockReading advance(ClockReading reading, std::span<const std::uint64_t> finishes,
                     std::uint64_t now, Pace pace = {});

/// The real time at which the clock reaches the virtual time `target`, if no kernel is queued in
/// between. Requires: target is no later than the latest finish, or already past.
std::uint64_t real_time_of(ClockReading reading, std::span<const std::uint64_t> finishes,
                           std::uint64_t target, Pace pace = {});

}  // namespace berth::emu
