// How many GPUs are taken, over time: a step function.
//
// Kept as the times at which it steps and the number from each of them on, in two plain arrays:
// changes are rare, and searches read long stretches of it. A value type; not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"

namespace berth {

class Levels {
 public:
  /// So many more from `from` to before `to`; less if `gpus` is below zero. Requires: from <= to.
  /// O(log steps) to find the place, O(steps behind it) to make room.
  void add(Instant from, Instant to, GpuCount gpus);

  /// How many at that time.
  GpuCount at(Instant time) const;
  /// The first time from `from` on since which there are at most `most` for so long; kNever if
  /// there is none. O(log steps + steps passed).
  Instant first_below(GpuCount most, Duration lasts, Instant from) const;

  bool operator==(const Levels&) const = default;

 private:
  std::size_t step_at(Instant time) const;
  std::size_t split(Instant time);
  void join(std::size_t step);

  // No two neighbours are alike, and none are taken before the first.
  std::vector<Instant> times_;
  std::vector<std::int64_t> taken_;  ///< From that time on.
};

}  // namespace berth
