// The run settings of the engine. Configuration is an input: a change is journaled like anything
// else.
#pragma once

#include <cstdint>
#include <limits>

#include "core/admission.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace berth {

/// Bounds on one user's berths; zero means "no bound".
struct UserLimits {
  GpuCount gpus{0};
  std::int32_t jobs = 0;

  bool any() const { return gpus.raw() > 0 || jobs > 0; }
  auto operator<=>(const UserLimits&) const = default;
};

/// The keys of the policy `headroom`. doc/headroom.md argues the defaults.
struct HeadroomKeys {
  Duration short_bound = minutes(15);   ///< A short job runs no longer.
  Duration medium_bound = hours(4);     ///< Nor a medium one than this; long ones have no bound.
  Duration ageing = hours(1);           ///< What one class is worth in waiting, within a user.
  Duration reserve_after = minutes(5);  ///< A job waits this long before a place is kept for it.
  std::int32_t reservations = 4;        ///< How many jobs may have a place kept at a time.
  /// While nobody knows when a kept place will be free, others may borrow it for this long, or for
  /// as long as its job has waited.
  Duration lend = minutes(15);
  std::int32_t liar_after = 3;            ///< Jobs over their class until a user's word is doubted.
  std::int32_t share_below_percent = 75;  ///< A busier GPU gets another tenant only
  Duration share_after = minutes(5);      ///< for a job that has waited this long.

  bool operator==(const HeadroomKeys&) const = default;
};

/// How much of one job's work preemption may throw away, where what is preempted begins again
/// (Settings::can_suspend). Beyond that the job is left alone.
struct PreemptionBounds {
  std::int32_t most = 3;     ///< It is preempted so often at most.
  Duration lost = hours(1);  ///< One that has run for so long, all attempts together, no more.

  bool operator==(const PreemptionBounds&) const = default;
};
inline constexpr PreemptionBounds kUnbounded{.most = std::numeric_limits<std::int32_t>::max(),
                                             .lost = kForever};

struct Settings {
  Admission admission;
  UserLimits limits;
  HeadroomKeys headroom;
  Duration service_half_life = hours(24 * 7);  ///< How fast past service is forgotten.
  std::int32_t max_failed_starts = 3;          ///< After this many a job is `failed`.
  /// False where a suspended process could not give its GPU memory back: it is requeued instead.
  bool can_suspend = true;

  bool operator==(const Settings&) const = default;
};

}  // namespace berth
