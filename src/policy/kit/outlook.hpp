// The assumptions of backfilling: when running jobs leave, and whether that is still expected.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/view.hpp"
#include "policy/kit/classes.hpp"
#include "policy/kit/timeline.hpp"

namespace berth {

/// True if the job has a time limit or an estimate.
inline bool has_plan(const JobView& job) { return job.estimate() != kForever; }

/// When jobs are assumed to leave.
struct Plans {
  /// A job without a limit or an estimate is assumed to run for as long as its class may; a job
  /// that has outlived its class joins the next one, and a long job runs for a day, then for two,
  /// and so on.
  ClassBounds classes = {};

  /// Remaining run time that other jobs' plans assume. A job that has outlived its estimate e by x
  /// is foreseen to run on for max(x, e/8) to three times that, since run times have long tails:
  /// for e + 2s in all, where s is the least of a row of steps above max(x, e/8). The steps let
  /// plans hold for a while (Tsafrir, Etsion and Feitelson, TPDS 2007, raise such predictions in
  /// steps).
  Duration counted_on(const JobView& job) const;
  /// The time after which a job that still runs is foreseen to leave later.
  Duration holds_for(const JobView& job) const;
  /// When a job with a berth is foreseen to leave: now, if it stops or is at its limit.
  Instant foreseen_end(const JobView& job, Instant now) const {
    return job.state() == JobState::Stopping ? now : later(now, counted_on(job));
  }
  /// The same of one that was started in this pass.
  Instant foreseen_end(const Fresh& fresh, const ClusterView& view) const {
    return later(view.now(), counted_on(view.job(fresh.job)));
  }
};

/// True if no limit ends the job and it has run for longer than its estimate.
inline bool has_outlived(const JobView& job) {
  return job.spec().time_limit == kForever && job.state() != JobState::Stopping &&
         job.remaining() == Duration::zero();
}

/// True if what is foreseen of the job is neither said by its user nor learned.
inline bool is_guess(const JobView& job) { return !has_plan(job) || has_outlived(job); }

/// Of all GPUs together.
Bytes charges_of(const Grant& grant);

/// When the first of the jobs that are foreseen to leave by `until`, and that no limit ends, is
/// foreseen to leave later than now, if it still runs then: what was planned by it may move.
Instant first_doubt(const ClusterView& view, std::span<const Fresh> started, const Plans& plans,
                    Instant until);

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
  Change follow(const ClusterView& view, const Plans& plans = {});
  /// Notes the jobs that were started in this pass too. Requires: follow() in this pass.
  void add(const ClusterView& view, std::span<const Fresh> started, const Plans& plans = {});

  bool has_noted() const { return condition_ != 0; }
  void save(ByteWriter& writer) const;
  void restore(ByteReader& reader);

 private:
  struct Noted {
    JobId job;
    Instant end;
    Bytes charge;
  };
  static Noted noted(const ClusterView& view, JobId id, const Plans& plans);
  static Change between(const Noted& was, const Noted& is, Instant now);

  std::vector<Noted> noted_;     ///< Ascending by job.
  std::uint64_t condition_ = 0;  ///< Of the GPUs and nodes; 0: nothing noted.
};

}  // namespace berth
