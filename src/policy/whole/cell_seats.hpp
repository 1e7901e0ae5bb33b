// The seats of jobs in virtual clusters of cells, as one decision finds and changes them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "core/trial.hpp"
#include "core/view.hpp"
#include "policy/whole/cell_owners.hpp"
#include "policy/whole/virtual_cells.hpp"

namespace berth {

/// What is kept of a seat from one decision to the next.
struct CellSeat {
  JobId job;
  std::int32_t priority = -1;  ///< Below 0: opportunistic.
  std::vector<std::uint32_t> gpus = {};
  std::vector<std::uint32_t> virtual_gpus = {};  ///< From the first of its virtual cluster on.

  bool operator==(const CellSeat&) const = default;
};
inline auto members(CellSeat& v) { return std::tie(v.job, v.priority, v.gpus, v.virtual_gpus); }

/// Pods of a job on nodes with room for so many GPUs, in their order: as large as the nodes, and
/// one for the rest. Smaller ones, down to a GPU each, where nodes differ so that these do not fit;
/// nothing if there is too little room in all.
std::optional<std::vector<std::uint32_t>> pods_of(std::uint32_t gpus,
                                                  std::span<const std::uint32_t> room);

/// Requires: the view outlives it, and no other trial of it is open meanwhile.
class CellSeats {
 public:
  CellSeats(const ClusterView& view, CellOwners owners, ClusterCells machine);

  /// Gives the seats of the last decision again, in their order, to jobs that still run or wait;
  /// one that has lost its cells is opportunistic. Then running jobs without a seat, which some
  /// other policy started, have opportunistic ones where they run.
  void restore(std::span<const CellSeat> seats);
  /// Finds seats for these jobs, which ask for GPUs, the first to be served first: in the virtual
  /// clusters of their users, then anywhere. Those that lose their seats meanwhile are tried again.
  void seat(std::span<const JobId> jobs);

  bool has(JobId job) const { return clusters_.find(job) != nullptr; }
  /// In the order in which they were given.
  std::vector<CellSeat> all() const;
  /// Where jobs with seats are to run; where those are that run beside others, and have none; and
  /// the first node for each of these jobs that ask for no GPUs.
  std::map<JobId, Placement> places(std::span<const JobId> without_gpus);
  /// When one that must not give way now may; kNever: at no time that is known.
  Instant changes_at() const;

 private:
  enum class Found : std::uint8_t { Nothing, Free, TakenFromOthers };
  using Kind = std::tuple<Ask, std::uint32_t, std::int32_t>;

  void put(const Job& job, const CellSeat& seat);
  bool put_opportunistic(const Job& job, std::vector<std::uint32_t> gpus);
  bool charge(const Job& job);
  bool stays(const Job& job) const;
  bool may_have(JobId job, GpuCount gpus) const;
  Found seat_in_own(JobId job);
  Found seat_anywhere(JobId job);
  Found seat_gang(const Ask& ask, const Gang& gang);
  void make_room(const Gang& gang, const std::function<bool()>& fits, std::vector<JobId>& evicted);

  const ClusterView& view_;
  CellOwners owners_;
  VirtualClusters clusters_;
  Trial trial_;                    ///< Of all seats.
  Scratch empty_;                  ///< The machine without jobs.
  std::vector<JobId> order_;       ///< Jobs with seats.
  std::vector<JobId> strangers_;   ///< Jobs that run without.
  std::map<JobId, Grant> grants_;  ///< What seats take.
  std::set<Kind> refused_;
};

}  // namespace berth
