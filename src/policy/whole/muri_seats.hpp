// Where the jobs of Muri's groups are to run, and what each did as if it were alone.
#pragma once

#include <map>
#include <span>
#include <tuple>

#include "core/knowledge/stages.hpp"
#include "core/members.hpp"
#include "core/view.hpp"
#include "policy/kit/seats.hpp"

namespace berth {

/// Not thread-safe.
class MuriSeats {
 public:
  /// Forgets jobs that are gone, and seats where their jobs cannot be any more: a job that was
  /// suspended cannot go on elsewhere. Returns: whether a job that is here lost its seat.
  bool drop_gone(const ClusterView& view);
  /// Counts what jobs with seats did since that was counted last, at the speed that they have
  /// there. Requires: drop_gone() in this pass.
  void count(const ClusterView& view);
  void forget() { seats_.clear(); }
  /// Speeds are those that `factors` give the stages.
  void add(const ClusterView& view, std::span<const Seat> seats, const StageFactors& factors);
  /// Takes all of them there. Requires: `seating` is on this trial.
  void occupy(const ClusterView& view, Seating& seating, Trial& trial) const;

  bool empty() const { return seats_.empty(); }
  /// Null for a job without a seat.
  const Placement* of(JobId job) const;
  /// At full speed, until count().
  Duration worked(JobId job) const;

  bool is_sane() const;
  friend auto members(MuriSeats& v) { return std::tie(v.seats_, v.worked_); }

 private:
  struct OfJob {
    Placement place;
    Rate speed;          ///< Beside those who share it.
    Duration before{0};  ///< JobView::progressed() when it was counted last.
  };
  friend auto members(OfJob& v) { return std::tie(v.place, v.speed, v.before); }

  std::map<JobId, OfJob> seats_;
  std::map<JobId, Duration> worked_;
};

}  // namespace berth
