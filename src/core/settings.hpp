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

/// True if a user who holds `gpus` with `jobs` berths may have one more with `more` GPUs.
constexpr bool within(const UserLimits& limits, GpuCount gpus, std::int32_t jobs, GpuCount more) {
  return (limits.gpus == GpuCount(0) || gpus + more <= limits.gpus) &&
         (limits.jobs == 0 || jobs < limits.jobs);
}

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
  Duration service_half_life = hours(24 * 7);  ///< How fast past service is forgotten.
  std::int32_t max_failed_starts = 3;          ///< After this many a job is `failed`.
  /// False where a suspended process could not give its GPU memory back: it is requeued instead.
  bool can_suspend = true;

  bool operator==(const Settings&) const = default;
};

}  // namespace berth
