// The settings of the engine. Configuration is an input, so a change is journaled like any other
// input.
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

/// True if a user with `gpus` GPUs in `jobs` berths may have one more berth of `more` GPUs.
constexpr bool within(const UserLimits& limits, GpuCount gpus, std::int32_t jobs, GpuCount more) {
  return (limits.gpus == GpuCount(0) || gpus + more <= limits.gpus) &&
         (limits.jobs == 0 || jobs < limits.jobs);
}

/// Bounds on the work that preemption may cost a job, if a preempted job begins again
/// (Settings::can_suspend). Beyond them the job is not preempted.
struct PreemptionBounds {
  std::int32_t most = 3;     ///< Most preemptions of a job.
  Duration lost = hours(1);  ///< Run time, all attempts together, after which there are none.

  bool operator==(const PreemptionBounds&) const = default;
};
inline constexpr PreemptionBounds kUnbounded{.most = std::numeric_limits<std::int32_t>::max(),
                                             .lost = kForever};

struct Settings {
  Admission admission;
  UserLimits limits;
  Duration service_half_life = hours(24 * 7);  ///< Past service counts half after this.
  std::int32_t max_failed_starts = 3;          ///< After this many a job is `failed`.
  /// False if a suspended process cannot free its GPU memory; the job is requeued instead.
  bool can_suspend = true;

  bool operator==(const Settings&) const = default;
};

}  // namespace berth
