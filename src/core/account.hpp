// Service received per user, decaying with time, in integers only so that it orders the same
// anywhere.
//
// A user's dominant share at an instant is the larger of their share of GPU memory and of GPUs, by
// the values of the GPUs' types. Its integral over time, with old service halving every half-life,
// is what fair orders compare.
#pragma once

#include <cstdint>

#include "core/base/ids.hpp"
#include "core/base/limits.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"

namespace berth {

/// Parts per billion of the cluster, times seconds.
using ShareSeconds = Quantity<struct ShareSecondsTag>;

/// 2^(-elapsed / half_life) as a fraction of 2^62, by table: no floating point.
std::int64_t decay_q62(Duration elapsed, Duration half_life);

/// In thousandths, as all weights of users: of one of whom nothing is said.
inline constexpr std::int64_t kUsualWeight = 1000;
using limits::kMostWeight;

/// What is held of GPUs, each counted by the value of its type.
struct Worth {
  std::int64_t gpus = 0;  ///< Thousandths of a GPU of value 1.
  Bytes memory{0};

  void add(const Worth& other, int sign = 1) {
    gpus += other.gpus * sign;
    memory += other.memory * sign;
  }
  bool operator==(const Worth&) const = default;
};

struct Account {
  std::int64_t weight_milli = kUsualWeight;
  ShareSeconds service{0};  ///< As of `as_of`.
  Instant as_of;
  std::int64_t share_ppb = 0;  ///< Dominant share held since `as_of`.
  GpuCount gpus{0};            ///< Held now.
  Bytes charges{0};            ///< Of GPU memory, held now.
  Worth worth = {};            ///< Of both.
  std::int32_t jobs = 0;       ///< With a berth.

  /// Service with decay up to `now`. Requires: now >= as_of, half_life > 0.
  ShareSeconds service_at(Instant now, Duration half_life) const;
  /// Moves `as_of` to `now`. Call before changing what is held.
  void settle(Instant now, Duration half_life);

  bool operator==(const Account&) const = default;
};

}  // namespace berth
