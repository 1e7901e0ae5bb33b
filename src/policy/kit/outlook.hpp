// The assumptions of backfilling: when running jobs leave, and whether that is still expected.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/bytes.hpp"
#include "core/view.hpp"
#include "policy/kit/timeline.hpp"

namespace berth {

/// A job without a limit or an estimate is assumed to run for this long.
inline constexpr Duration kUnplanned = hours(24) * 365;

/// True if the job has a time limit or an estimate.
inline bool has_plan(const JobView& job) { return job.estimate() != kForever; }

/// Remaining run time that other jobs' plans assume; zero for a job that is over its plan.
inline Duration counted_on(const JobView& job) {
  if (has_plan(job)) return job.planned();
  return kUnplanned > job.ran() ? kUnplanned - job.ran() : Duration::zero();
}

/// When a job with a berth is assumed to leave: now, if it stops or is over its plan.
inline Instant counted_end(const JobView& job, Instant now) {
  return job.state() == JobState::Stopping ? now : later(now, counted_on(job));
}

/// True if no limit ends the job and it has run for longer than its estimate.
inline bool has_outlived(const JobView& job) {
  return job.planned() == Duration::zero() && job.spec().time_limit == kForever &&
         job.state() != JobState::Stopping;
}

/// counted_end(), but a job that has outlived its estimate is assumed to need twice as long, and so
/// on, so that plans hold for a while (Tsafrir, Etsion and Feitelson, TPDS 2007, raise such
/// predictions in steps).
Instant foreseen_end(const JobView& job, Instant now);

/// All jobs that run or were started in this pass, in the order in which they are assumed to leave.
std::vector<Leaving> leaving_as_counted(const ClusterView& view, std::span<const Fresh> started);

/// The cluster at `then`, without the jobs that are assumed to have left. `now` is the cluster now,
/// with the jobs started in this pass.
Scratch occupancy_at(Instant then, const ClusterView& view, const Occupancy& now,
                     std::span<const Fresh> started);

/// Remembers from pass to pass when jobs were assumed to leave. As long as it reports no change,
/// plans made then are still valid.
class Outlook {
 public:
  enum class Change : std::uint8_t {
    None,
    Sooner,  ///< A job left, or will leave, before its plan; none later.
    Other,   ///< A job stays longer or has grown, or GPUs changed their health.
  };

  /// Compares with the last note, and notes the running jobs. Other if there was no note.
  /// Cost: O(GPUs + running).
  Change follow(const ClusterView& view);
  /// Notes the jobs that were started in this pass too. Requires: follow() in this pass.
  void add(const ClusterView& view, std::span<const Fresh> started);

  /// The first half of follow().
  Change look(const ClusterView& view) const { return Outlook(*this).follow(view); }
  /// The second half of it, and add().
  void note(const ClusterView& view, std::span<const Fresh> started);

  bool has_noted() const { return condition_ != 0; }
  void save(ByteWriter& writer) const;
  void restore(ByteReader& reader);

 private:
  struct Noted {
    JobId job;
    Instant end;
    Bytes charge;
  };
  static Noted noted(const ClusterView& view, JobId id);
  static Change between(const Noted& was, const Noted& is, Instant now);

  std::vector<Noted> noted_;     ///< Ascending by job.
  std::uint64_t condition_ = 0;  ///< Of the GPUs and nodes; 0: nothing noted.
};

}  // namespace berth
