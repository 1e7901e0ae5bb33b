// What backfilling counts on: when those that run are taken to leave, and whether they still will.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/bytes.hpp"
#include "core/view.hpp"
#include "policy/kit/timeline.hpp"

namespace berth {

/// A job without a limit or an estimate is taken to run for this long.
inline constexpr Duration kUnplanned = hours(24) * 365;

/// It has a time limit or an estimate.
inline bool has_plan(const JobView& job) { return job.estimate() != kForever; }

/// Run time to come that others count on; zero for one that is over its plan.
inline Duration counted_on(const JobView& job) {
  if (has_plan(job)) return job.planned();
  return kUnplanned > job.ran() ? kUnplanned - job.ran() : Duration::zero();
}

/// When a job with a berth is taken to leave: now, if it stops or is over its plan.
inline Instant counted_end(const JobView& job, Instant now) {
  return job.state() == JobState::Stopping ? now : later(now, counted_on(job));
}

/// No limit will end it, and it has run for longer than was estimated.
inline bool has_outlived(const JobView& job) {
  return job.planned() == Duration::zero() && job.spec().time_limit == kForever &&
         job.state() != JobState::Stopping;
}

/// counted_end(), but one that has outlived its estimate is taken to need twice as long, and so on:
/// what rests on it then holds for a while (Tsafrir, Etsion and Feitelson, TPDS 2007, raise such
/// predictions in steps).
Instant foreseen_end(const JobView& job, Instant now);

/// Every job that runs or was started in this pass, in the order in which they are taken to leave.
std::vector<Leaving> leaving_as_counted(const ClusterView& view, std::span<const Fresh> started);

/// The cluster at `then`, if every job leaves when it is taken to: without those gone by then.
/// `now` is the cluster now, with those started in this pass.
Scratch occupancy_at(Instant then, const ClusterView& view, const Occupancy& now,
                     std::span<const Fresh> started);

/// Remembers from pass to pass when everyone was taken to leave. As long as it reports no change,
/// what was found out about the future then is still true.
class Outlook {
 public:
  enum class Change : std::uint8_t {
    None,
    Sooner,  ///< Somebody left, or will leave, before its plan; nobody later.
    Other,   ///< Somebody stays longer or has grown, or GPUs are in other condition.
  };

  /// Compares with what was noted last, and notes the jobs that run. Nothing noted yet is Other.
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
