// The settings of the engine. Configuration is an input, so a change is journaled like any other
// input.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/admission.hpp"
#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"

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
/// from nothing (Settings::can_suspend, Saving). Beyond them the job is not preempted.
struct PreemptionBounds {
  std::int32_t most = 3;     ///< Most preemptions of a job.
  Duration lost = hours(1);  ///< Run time, all attempts together, after which there are none.

  bool operator==(const PreemptionBounds&) const = default;
};
inline constexpr PreemptionBounds kNeverPreempted{.most = 0, .lost = Duration(0)};
inline constexpr PreemptionBounds kUnbounded{.most = std::numeric_limits<std::int32_t>::max(),
                                             .lost = kForever};

/// Why a GPU takes no more jobs.
struct Drain {
  Instant until = kNever;
  /// Nobody: the shell was not given the GPU, and the reason says by what.
  std::optional<UserId> by = std::nullopt;
  std::string reason = {};
  std::string shown = {};  ///< Who and until when, as its shell says it: `bob until 18:00`.

  bool operator==(const Drain&) const = default;
};

/// A set of reservations in the calendar, a bit for each (bit_of).
using ReservationBits = std::uint64_t;
/// So many reservations may be in the calendar at a time.
inline constexpr std::uint32_t kMostReservations = 64;

/// GPUs that only some users' jobs use in some time. An entry of the calendar, made by a person;
/// the place that a policy keeps for a job is a Hold.
struct Reservation {
  std::vector<GpuId> gpus = {};    ///< Ascending.
  std::vector<UserId> users = {};  ///< Those who may use them; ascending.
  Instant from = kStart;
  Instant until = kNever;
  UserId by = {};
  std::string reason = {};
  std::string shown = {};  ///< As its shell says it: `alice from 22:00 until 06:00`.

  bool operator==(const Reservation&) const = default;
};

/// Two in the calendar at the same time have different bits.
constexpr ReservationBits bit_of(ReservationId id) {
  return ReservationBits{1} << (id.value() % kMostReservations);
}

/// What an hour on a GPU of a type counts, in thousandths of an hour of value 1; by type.
using GpuValues = std::map<std::string, std::int64_t>;
inline constexpr std::int64_t kUsualValue = 1000;
inline constexpr std::int64_t kMostValue = 1'000'000;

struct Settings {
  Admission admission;
  UserLimits limits;  ///< Of a user who is not in the next.
  std::map<UserId, UserLimits> user_limits = {};
  Duration service_half_life = hours(24 * 7);  ///< Past service counts half after this.
  std::int32_t max_failed_starts = 3;          ///< After this many a job is `failed`.
  /// False if a suspended process cannot free its GPU memory; the job is requeued instead.
  bool can_suspend = true;
  /// A suspended job goes on only on the nodes where it was, with as many GPUs on each.
  bool suspends_in_place = false;
  /// It goes on only on GPUs of the types that it had: a driver puts memory back on no other.
  bool suspends_on_type = false;
  /// Host memory for what suspended jobs held on GPUs, of all nodes together; nothing: no bound.
  std::optional<Bytes> suspend_room = std::nullopt;
  /// A user's jobs that never ran change places in line so that larger priorities are first.
  bool own_priority = false;
  /// Jobs are ended at their time limits; false where what runs them does that.
  bool ends_at_limit = true;
  /// A type that is not here has kUsualValue. Users' shares go by it, their limits do not.
  GpuValues gpu_values = {};

  const UserLimits& limits_of(UserId user) const {
    const auto found = user_limits.find(user);
    return found == user_limits.end() ? limits : found->second;
  }
  /// False if no user has a limit.
  bool has_limits() const { return limits.any() || !user_limits.empty(); }

  bool operator==(const Settings&) const = default;
};

}  // namespace berth
