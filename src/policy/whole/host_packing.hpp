// Places for jobs with cores and host memory that a policy chooses, as in Synergy (Mohan et al.,
// OSDI 2022). What is given is in the ask of a seat. It never exceeds a node: a trial admits each
// place, and what is given there only falls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "core/ask.hpp"
#include "core/trial.hpp"
#include "core/view.hpp"
#include "policy/kit/tally.hpp"
#include "policy/policy.hpp"

namespace berth {

/// A job to be placed: one ask with two amounts of cores and host memory.
struct HostChoice {
  JobId job;
  Ask wants;  ///< With which it is fastest.
  Ask fair;   ///< In proportion to its GPUs.

  /// What it may be brought down to for others: of each what it wants, or the part if that is less.
  Ask modest() const {
    Ask ask = wants;
    ask.request.cpu = std::min(wants.request.cpu, fair.request.cpu);
    ask.request.host = std::min(wants.request.host, fair.request.host);
    return ask;
  }
};

struct HostSeat {
  HostChoice choice;
  Ask ask;  ///< As given.
  Placement place;
  Grant grant = {};         ///< Of the trial.
  bool is_reduced = false;  ///< For the sake of another job, after it had its place.
};

enum class HostPacking : std::uint8_t {
  Fair,    ///< Each job has the proportional amounts.
  Greedy,  ///< Each has what it wants, or no place.
  Tune,    ///< What it wants; else no more than in proportion, which others are brought down to.
};

/// Gives places to one job after the other. Requires: its arguments outlive it.
class HostPacker {
 public:
  HostPacker(HostPacking how, const ClusterView& view, const Placer& placer, Trial& trial)
      : how_(how), placer_(placer), trial_(trial), tally_(view, Tally::From::Nothing) {}

  /// Counts a job that has its place on the trial already towards what its user may have.
  void count(JobId job, GpuCount gpus) { tally_.take(job, gpus); }

  /// Returns: whether it has a place, which its user may have; if not, no other job's amounts
  /// changed. Cost: a placement or three, and with Tune O(GPUs + seats log seats).
  bool add(const HostChoice& choice);
  HostPacking how() const { return how_; }
  const std::vector<HostSeat>& seats() const { return seats_; }

 private:
  bool put(const HostChoice& choice, const Ask& ask);
  void make_room(JobId job, const Ask& ask);
  void reduce_on(NodeId node, std::size_t gpus, const Ask& ask);
  void reduce(HostSeat& seat);
  struct Surplus {
    std::int64_t cpu;
    std::int64_t host;
  };
  /// What a job has there beyond its proportional amounts.
  Surplus surplus_on(NodeId node, const HostSeat& seat) const;

  HostPacking how_;
  const Placer& placer_;
  Trial& trial_;
  Tally tally_;
  std::vector<HostSeat> seats_;
  std::map<NodeId, std::vector<std::size_t>> on_node_;  ///< Seats, in the order last used.
};

}  // namespace berth
