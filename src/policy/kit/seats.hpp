// Seats: places for the jobs of a round, each on one type of GPU, as if no job ran now.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/view.hpp"
#include "policy/kit/tally.hpp"
#include "policy/policy.hpp"

namespace berth {

/// The ask on one type of GPU; nothing if it rules that type out.
std::optional<Ask> on_type(Ask ask, std::size_t type);

/// Places a job on the first type that has a place for it. Requires: `placer` outlives this.
class OneTypePlacer final : public Placer {
 public:
  explicit OneTypePlacer(const Placer& placer) : placer_(placer) {}
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override;

 private:
  const Placer& placer_;
};

struct Seat {
  JobId job;
  Ask ask;  ///< Of one type of GPU.
  Placement place;
};

/// Gives seats job by job. Requires: its arguments outlive it, and the trial is of an empty
/// cluster.
class Seating {
 public:
  Seating(const ClusterView& view, const Placer& placer, Trial& trial)
      : view_(view), placer_(placer), trial_(trial), tally_(view, Tally::From::Nothing) {}

  /// At the placer's choice. Returns: whether there is a place and the user may have it.
  bool seat(JobId job, const Ask& ask);
  /// Where the job runs now. Returns: whether it runs and that place is still free.
  bool keep(JobId job, const Ask& ask);

  std::vector<Seat> take() { return std::move(seats_); }

 private:
  void add(Seat seat);

  const ClusterView& view_;
  const Placer& placer_;
  Trial& trial_;
  Tally tally_;
  std::vector<Seat> seats_;
};

/// Gives the same seats again so that few jobs move: first each job stays where it runs if it can,
/// then the others find places, largest first. Returns `seats` if one of those finds none.
std::vector<Seat> with_fewest_moves(std::vector<Seat> seats, Seating again);

}  // namespace berth
