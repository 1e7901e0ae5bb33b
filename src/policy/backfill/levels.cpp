#include "policy/backfill/levels.hpp"

#include <algorithm>

#include "core/base/assert.hpp"

namespace berth {

/// How many steps are at or before this time.
std::size_t Levels::step_at(Instant time) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(times_, time) - times_.begin());
}

GpuCount Levels::at(Instant time) const {
  const std::size_t steps = step_at(time);
  return GpuCount(steps == 0 ? 0 : taken_[steps - 1]);
}

/// Returns: the step at this time, which may be one of nothing.
std::size_t Levels::split(Instant time) {
  const std::size_t next = step_at(time);
  if (next > 0 && times_[next - 1] == time) return next - 1;
  const std::int64_t before = next == 0 ? 0 : taken_[next - 1];
  times_.insert(times_.begin() + static_cast<std::ptrdiff_t>(next), time);
  taken_.insert(taken_.begin() + static_cast<std::ptrdiff_t>(next), before);
  return next;
}

/// Drops a step of nothing.
void Levels::join(std::size_t step) {
  if (taken_[step] != (step == 0 ? 0 : taken_[step - 1])) return;
  times_.erase(times_.begin() + static_cast<std::ptrdiff_t>(step));
  taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(step));
}

void Levels::add(Instant from, Instant to, GpuCount gpus) {
  BERTH_ASSERT(from <= to);
  if (from == to || gpus == GpuCount(0)) return;
  const std::size_t first = split(from);
  const std::size_t end = split(to);
  for (std::size_t step = first; step < end; ++step) taken_[step] += gpus.raw();
  join(end);
  join(first);
}

Instant Levels::first_below(GpuCount most, Duration lasts, Instant from) const {
  const std::size_t end = times_.size();
  std::size_t next = step_at(from);
  bool is_below = at(from) <= most;
  while (from != kNever) {
    for (; !is_below; ++next) {  // to the step that goes down far enough
      if (next == end) return kNever;
      from = times_[next];
      is_below = taken_[next] <= most.raw();
    }
    const Instant until = later(from, lasts);
    while (next < end && times_[next] < until && taken_[next] <= most.raw()) ++next;
    if (next == end || times_[next] >= until) return from;
    is_below = false;
  }
  return kNever;
}

}  // namespace berth
