// An interval of a run's time.
#pragma once

#include "core/base/time.hpp"

namespace berth::sim {

struct Window {
  Instant from = kStart;
  Instant to = kNever;  ///< Not in it.

  constexpr bool has(Instant at) const { return at >= from && at < to; }
  bool operator==(const Window&) const = default;
};

}  // namespace berth::sim
