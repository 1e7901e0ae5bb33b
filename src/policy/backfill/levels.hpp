// The number of GPUs taken over time: a step function.
//
// Stored as the times of its steps and the number from each of them on, in two plain arrays,
// because changes are rare and searches read long parts of it. A value type; not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/time.hpp"
#include "core/base/units.hpp"

namespace berth {

class Levels {
 public:
  /// Adds `gpus`, which may be below zero, from `from` to before `to`. Requires: from <= to.
  /// O(log steps) to find the place, O(steps behind it) to make room.
  void add(Instant from, Instant to, GpuCount gpus);

  /// The number at that time.
  GpuCount at(Instant time) const;
  /// The first time from `from` on after which there are at most `most` for this long; kNever if
  /// there is none. O(log steps + steps passed).
  Instant first_below(GpuCount most, Duration lasts, Instant from) const;

  bool operator==(const Levels&) const = default;

 private:
  std::size_t step_at(Instant time) const;
  std::size_t split(Instant time);
  void join(std::size_t step);

  // No two neighbours are equal, and no GPU is taken before the first.
  std::vector<Instant> times_;
  std::vector<std::int64_t> taken_;  ///< From that time on.
};

}  // namespace berth
