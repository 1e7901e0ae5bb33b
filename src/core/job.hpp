// A job: what was asked, and what became of it so far. Plain values; only the engine changes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ask.hpp"
#include "core/base/assert.hpp"
#include "core/base/boxed.hpp"
#include "core/base/ids.hpp"
#include "core/base/label.hpp"
#include "core/base/outcome.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "core/conditions.hpp"
#include "core/request.hpp"

namespace berth {

enum class JobState : std::uint8_t {
  Queued,    ///< Waits for a berth.
  Held,      ///< Waits for its owner's release.
  Starting,  ///< Its charge is taken; the shell launches it.
  Running,
  Suspended,  ///< Stopped by the scheduler with its work kept; waits like a queued job.
  Stopping,   ///< Ends or is preempted; the charge stays until the memory is seen free.
  Deferred,   ///< Waits for the end of another job, a time or its turn; for no place yet.
};

enum class DurationClass : std::uint8_t { Short, Medium, Long, Service };

/// Whether a job may be suspended so that another runs.
enum class Suspending : std::uint8_t {
  Unsaid,  ///< It may.
  No,      ///< Nor is it requeued for that.
  Yes,     ///< Its user says that its program bears it.
};

/// What the submitter said, and what is predicted where nothing was said. Only the class changes,
/// by a decision, GPU memory that ran out, and what a suspension broke.
struct JobSpec {
  UserId user;
  Request request;
  DurationClass duration_class = DurationClass::Medium;
  Duration time_limit = kForever;     ///< The user's bound on the time of each start: run_of().
  Duration estimate = kForever;       ///< Predicted run time to its end; kForever: none.
  Boxed<Conditions> conditions = {};  ///< What few jobs ask for.
  Bytes vram_estimate{0};             ///< Predicted GPU memory, upper bound; zero: none.
  Instant deadline = kNever;
  std::int32_t priority = 0;  ///< Larger goes first among the jobs of its user.
  std::int32_t retries = 0;   ///< How often it may be tried again with more GPU memory.
  BlobId command;             ///< Arguments, environment, directory: the shell's.
  Label group = {};           ///< Jobs of one user that belong together, as a sweep's; "": none.
  Label model = {};           ///< Its row in the table of speeds (speeds.hpp); "": not said.
  std::int64_t batch = 0;     ///< Samples of a step, on all its GPUs together; 0: not said.
  /// Past runs that `estimate` was learned from (run_estimate.hpp); 0: the submitter stated it.
  std::int32_t learned_from = 0;
  Suspending suspending = Suspending::Unsaid;

  bool operator==(const JobSpec&) const = default;
};

/// What holds where nobody said how a job shares its GPUs and whether it may be suspended, live as
/// in the simulator. A service has no end that its patience could be a part of, and who asks it, or
/// sits at a job's terminal (`is_attended`), would take it for dead.
constexpr Sharing usual_sharing(DurationClass what, bool is_attended) {
  return is_attended || what == DurationClass::Service ? Sharing::AtOnce : Sharing::Shared;
}
constexpr Suspending usual_suspending(DurationClass what, bool is_attended) {
  return is_attended || what == DurationClass::Service ? Suspending::No : Suspending::Unsaid;
}

/// Voluntary progress, in millionths of the job's own unit.
struct Progress {
  std::int64_t done = 0;
  std::int64_t total = 0;  ///< Zero: unknown.

  bool operator==(const Progress&) const = default;
};

/// The last value that a job reported under a name of its own.
struct Metric {
  std::string key;
  std::int64_t value = 0;  ///< In millionths.

  bool operator==(const Metric&) const = default;
};

/// What one job may report beside its progress; further names are not kept.
inline constexpr std::size_t kMostMetrics = 16;

/// GPU memory that a job held beyond its grant while others lacked what they were granted. On a GPU
/// that it was not given, it was granted nothing.
struct Overrun {
  JobId job;  ///< 0: none, but foreign use.
  UserId user;
  GpuId gpu;
  Bytes held{0};
  Bytes granted{0};
  Instant at;  ///< When it was seen last.

  bool operator==(const Overrun&) const = default;
};

/// Orders sort and count all jobs at each decision: what they read lies together, and first.
struct Job {
  JobId id;
  JobSpec spec;
  JobState state = JobState::Queued;
  /// While stopping by preemption: where it goes next; Held where its user suspends it. Suspended
  /// while it is held: its process is there.
  JobState after_stop = JobState::Queued;
  bool ending = false;     ///< Stopping for good: `outcome` says how.
  bool migrating = false;  ///< Stopping only to move; not a preemption.
  Outcome outcome = Outcome::Done;
  std::int32_t exit_code = 0;
  Attempt attempt;  ///< Of the latest berth; 0 before the first.
  Instant submitted;
  std::uint64_t barred = 0;  ///< As Ask::barred; follows the calendar and the time.
  Home home = {};            ///< Where its processes are, if they cannot go on elsewhere.
  GpuSet rooted = 0;         ///< While it is suspended: the GPUs that it must go on with; 0: any.
  GpuTypes bound = 0;        ///< Of the GPUs that its processes began on, if no others will do.
  Instant since;             ///< When the last change of (granted, not granted) was.
  Duration ran{0};           ///< With GPUs granted, up to `since`.
  Duration ran_before{0};    ///< Of that, before its latest start from nothing.
  GpuTime attained{0};       ///< Granted GPUs x time, up to `since`.
  Duration waited{0};        ///< Without, up to `since`.
  Instant first_start = kNever;
  std::uint64_t grant_number = 0;  ///< The n-th grant of the engine; orders grants.
  std::int32_t preemptions = 0;
  std::int32_t failed_starts = 0;
  std::int32_t retries_used = 0;  ///< Times it was requeued with a larger request.
  Progress progress;
  std::vector<Metric> metrics;  ///< Ascending by key; at most kMostMetrics.
  Grant grant;                  ///< Empty unless it holds a berth.
  Instant lease = kNever;       ///< When its berth ends by the policy's own word.
  /// While it stops: when its process ended, which may be noticed much later.
  std::optional<Instant> ended;
  /// While it stops: when it was killed or its end was noticed; its GPU memory comes back at once.
  std::optional<Instant> leaving;
  bool ran_out = false;  ///< Stopping for lack of GPU memory; what follows is not decided yet.
  bool again_if_hurt = false;      ///< Then it runs again if that was a neighbour's fault.
  std::optional<Overrun> hurt_by;  ///< The latest overrun at its expense; while it holds a berth.
  Instant stays_until;             ///< It could not be suspended, and is not preempted before.
  Duration line_shift{0};          ///< From its submission to its place in line.
  Bytes in_host{0};                ///< GPU memory that it held when it was told to be suspended.

  bool operator==(const Job&) const = default;
};

constexpr bool holds_berth(JobState state) {
  return state == JobState::Starting || state == JobState::Running || state == JobState::Stopping;
}
/// True from its start until it stops.
constexpr bool is_running(JobState state) {
  return state == JobState::Starting || state == JobState::Running;
}
constexpr bool is_waiting(JobState state) {
  return state == JobState::Queued || state == JobState::Suspended;
}

/// True if it waits and nothing was spent on it yet: a place in line is as good for it as for
/// another.
inline bool waits_for_its_first_berth(const Job& job) {
  return job.state == JobState::Queued && job.attempt == Attempt(0);
}

/// True if its process is there without GPUs: the scheduler or its user suspended it.
inline bool has_idle_process(const Job& job) {
  const bool by_user = job.state == JobState::Held && job.after_stop == JobState::Suspended;
  return by_user || job.state == JobState::Suspended;
}

/// True if its user started its process by hand.
inline bool is_adopted(const JobSpec& spec) {
  const Conditions* const asked = spec.conditions.if_set();
  return asked != nullptr && asked->adopted;
}

/// True if it saves its own state when it is preempted, and starts again with that.
inline bool saves_itself(const Job& job) {
  const Conditions* const asked = job.spec.conditions.if_set();
  return asked != nullptr && asked->on_preempt.signal != 0;
}

/// Time with a berth up to `now`, all attempts together; of each up to the end of its process.
inline Duration ran_of(const Job& job, Instant now) {
  if (!holds_berth(job.state)) return job.ran;
  return job.ran + (job.ended.value_or(now) - job.since);
}
/// Of that, since its latest start from nothing: what its time limit bounds. One that is suspended
/// goes on with it; of one that will be started again there is none.
inline Duration run_of(const Job& job, Instant now) { return ran_of(job, now) - job.ran_before; }
/// What its time limit leaves of it, counted from `since`, when it took its berth.
inline Duration limit_left(const Job& job) {
  return job.spec.time_limit - (job.ran - job.ran_before);
}
/// When its time limit ends it if it is not suspended before. Requires: it holds a berth and has a
/// limit. The same value at grant and release, because what it is made of only changes then.
inline Instant time_limit_at(const Job& job) { return later(job.since, limit_left(job)); }
/// GPUs that it held times that time, whatever number it held when.
inline GpuTime attained_of(const Job& job, Instant now) {
  if (!holds_berth(job.state)) return job.attained;
  return sum_of(job.attained, job.grant.gpus() * (job.ended.value_or(now) - job.since));
}

/// A job as a policy sees it at one instant. Cheap to copy; valid while the view it came from is.
class JobView {
 public:
  JobView(const Job& job, Instant now) : job_(&job), now_(now) {}

  JobId id() const { return job_->id; }
  UserId user() const { return job_->spec.user; }
  const JobSpec& spec() const { return job_->spec; }
  DurationClass duration_class() const { return job_->spec.duration_class; }
  const Request& request() const { return job_->spec.request; }
  /// GPUs that it holds; those that it asks for while it has no berth.
  GpuCount gpus() const {
    return holds_berth(job_->state) ? job_->grant.gpus() : job_->spec.request.gpu.count;
  }
  const std::string& group() const { return job_->spec.group; }
  /// When its berth ends unless the policy renews it; kNever without a lease.
  Instant lease() const { return job_->lease; }
  const Progress& progress() const { return job_->progress; }
  /// The last value that it reported under this name, in millionths.
  std::optional<std::int64_t> metric(std::string_view key) const;
  JobState state() const { return job_->state; }
  bool ending() const { return job_->ending; }
  Instant submitted() const { return job_->submitted; }
  /// Its place in line, which is what an order by arrival goes by: when it was submitted, or when
  /// another job of its user was that it changed places with (Settings::own_priority).
  Instant in_line_since() const { return later(job_->submitted, job_->line_shift); }
  const Grant& grant() const { return job_->grant; }
  std::uint64_t grant_number() const { return job_->grant_number; }
  std::int32_t preemptions() const { return job_->preemptions; }
  Instant stays_until() const { return job_->stays_until; }
  /// True if it must never be preempted.
  bool stays() const { return job_->spec.suspending == Suspending::No; }

  /// When its berth was taken. Requires: it holds one.
  Instant granted_at() const {
    BERTH_ASSERT(holds_berth(job_->state));
    return job_->since;
  }

  /// GPU memory that it held when it was suspended; 0 if it never was since its start from nothing.
  Bytes in_host() const { return job_->in_host; }
  std::uint64_t barred() const { return job_->barred; }
  const Home& home() const { return job_->home; }
  GpuSet rooted() const { return job_->rooted; }
  GpuTypes bound() const { return job_->bound; }

  bool saves_itself() const { return berth::saves_itself(*job_); }
  /// Time without a berth since it first had one: what preemption has cost it so far.
  Duration delayed() const {
    if (job_->first_start == kNever || job_->first_start > now_) return Duration::zero();
    return std::max(Duration::zero(), now_ - job_->first_start - ran());
  }

  /// Time with a berth since its latest start from nothing.
  Duration run() const { return run_of(*job_, now_); }
  /// Time with a berth of which the work is not lost: what its estimate counts.
  Duration progressed() const { return saves_itself() ? ran() : run(); }
  /// Time with a berth, all attempts together; of each up to the end of its process.
  Duration ran() const { return ran_of(*job_, now_); }
  Duration waited() const {
    return holds_berth(job_->state) ? job_->waited : job_->waited + (now_ - job_->since);
  }
  /// Attained service: the integral of granted GPUs over time.
  GpuTime attained() const { return attained_of(*job_, now_); }

  /// Predicted run time to its end; the time limit if nothing better is known; kForever if neither.
  Duration estimate() const {
    return job_->spec.estimate != kForever ? job_->spec.estimate : job_->spec.time_limit;
  }
  /// Run time to come that others may count on: by the enforced limit where there is one, else by
  /// the estimate; kForever without either.
  Duration planned() const { return job_->spec.time_limit == kForever ? remaining() : enforced(); }
  /// Run time to come that is sure because the time limit is enforced; kForever without one.
  Duration enforced() const {
    const Duration limit = job_->spec.time_limit;
    if (limit == kForever) return kForever;
    return std::max(limit - run(), Duration::zero());
  }
  /// estimate() - progressed(), never negative; kForever without an estimate.
  Duration remaining() const {
    const Duration total = estimate();
    if (total == kForever) return kForever;
    return std::max(total - progressed(), Duration::zero());
  }

 private:
  const Job* job_;
  Instant now_;
};

inline std::optional<std::int64_t> JobView::metric(std::string_view key) const {
  const auto found = std::ranges::lower_bound(job_->metrics, key, {}, &Metric::key);
  if (found == job_->metrics.end() || found->key != key) return std::nullopt;
  return found->value;
}

}  // namespace berth
