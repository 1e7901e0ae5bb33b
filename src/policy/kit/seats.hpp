// Seats: places for the jobs of a round, each on one type of GPU, as if no job ran now. Jobs that
// share all their GPUs have one seat together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/view.hpp"
#include "policy/kit/filler.hpp"
#include "policy/kit/tally.hpp"
#include "policy/policy.hpp"

namespace berth {

/// The ask on one type of GPU; nothing if it rules that type out.
std::optional<Ask> on_type(Ask ask, std::size_t type);

/// What these asks come to on GPUs that they share; nothing if they cannot: one is to be alone, or
/// they differ in number or types of GPUs. Requires: one at least. Whether GPUs have the memory is
/// for admission to say.
std::optional<Ask> together(std::span<const Ask> asks);

/// Places a job on the first type that has a place for it. Requires: `placer` outlives this.
class OneTypePlacer final : public Placer {
 public:
  explicit OneTypePlacer(const Placer& placer) : placer_(placer) {}
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override;

 private:
  const Placer& placer_;
};

/// Takes all running jobs off the trial.
void clear(Trial& trial, const ClusterView& view);

/// False for a place that names a node or GPU which the cluster lacks.
bool exists(const Placement& place, const Cluster& cluster);

struct Seat {
  std::vector<JobId> jobs;
  Ask ask;  ///< Of all of them, on one type of GPU.
  Placement place;
};

/// Gives seats job by job. Requires: its arguments outlive it, the trial is of an empty cluster,
/// and nothing is taken off it meanwhile.
class Seating {
 public:
  Seating(const ClusterView& view, const Placer& placer, Trial& trial)
      : view_(view), filler_(placer, trial), trial_(trial), tally_(view, Tally::From::Nothing) {}

  /// At the placer's choice. Returns: whether there is a place and the user may have it.
  bool seat(JobId job, const Ask& ask) { return seat(std::span(&job, 1), ask); }
  /// The same for jobs that share their GPUs: all of them, or none. `ask` is what they come to.
  bool seat(std::span<const JobId> jobs, const Ask& ask);
  /// At this place, with as many GPUs as it has. Returns: whether it is free and the user may have
  /// it.
  bool hold(JobId job, Ask ask, Placement place);
  /// The same, but take() does not tell of it.
  bool occupy(JobId job, Ask ask, const Placement& place);
  /// Where the jobs run together now. Returns: whether they do and that place is still free.
  bool keep(JobId job, const Ask& ask) { return keep(std::span(&job, 1), ask); }
  bool keep(std::span<const JobId> jobs, const Ask& ask);
  /// The same, though that place may take no job any more. Returns: whether it runs.
  bool stay(JobId job);
  /// Those of these jobs that must not give way keep their places, also ones that may take no job
  /// any more, after the others. Returns: them.
  std::set<JobId> keep_left_alone(std::span<const JobId> jobs);

  /// Whether a seat so far has any.
  bool has_gpus() const {
    return std::ranges::any_of(seats_, [](const Seat& seat) { return !seat.place.gpus.empty(); });
  }
  std::vector<Seat> take() { return std::move(seats_); }

 private:
  bool share(std::span<const JobId> jobs, const Ask& ask, const Placement& place);
  void put(JobId job, const Ask& ask, const Placement& place);

  const ClusterView& view_;
  Filler filler_;
  Trial& trial_;
  Tally tally_;
  std::vector<Seat> seats_;
};

/// Gives the same seats again so that few jobs move: first each job stays where it runs if it can,
/// then the others find places, largest first. Returns `seats` if one of those finds none.
std::vector<Seat> with_fewest_moves(std::vector<Seat> seats, Seating again);

}  // namespace berth
