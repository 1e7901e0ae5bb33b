// Why a job waits, in figures and in words: what the policy decided, and what the books say of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/view.hpp"
#include "policy/about.hpp"
#include "policy/policy.hpp"

namespace berth {

/// One GPU that cannot take the job now.
struct Shortage {
  GpuId gpu;
  Why why = Why::Capacity;
  Bytes lacking{0};            ///< Memory short of the inequality; zero where memory suffices.
  std::vector<JobId> holders;  ///< Jobs with a berth there, ascending.
  std::optional<ReservationId> reserved =
      std::nullopt;  ///< What it is reserved by, if that is why.
};

/// A place kept for the job.
struct KeptPlace {
  Placement placement;
  Instant from = kNever;  ///< When its occupants' plans end; kNever if one has none.
};

/// A GPU that has room for the job beside others, which a gate of the policy lets it not join yet.
struct Crowd {
  GpuId gpu;
  std::int16_t utilisation = kUnknownUtilisation;  ///< Percent.
  std::vector<JobId> jobs;                         ///< Ascending.
};

struct Explanation {
  JobId job;
  Why why = Why::Fits;  ///< Fits: a place is there, and the policy does not say what is missing.
  Instant until =
      kNever;  ///< It has no place before then if nothing else changes; kNever: unknown.
  std::int64_t accepted = 0;  ///< GPUs that the job accepts.
  std::int64_t fitting = 0;   ///< Of these, the ones that could take it now.
  /// What of cores or host memory is not free where GPUs have room, or if too few have, where there
  /// are GPUs: `needs 8 of 16 cores, 2 are free (held by job 4)`; "" if they are.
  std::string host;
  /// Those of its reserved place first, then those that lack least, then those that a job has to
  /// itself; but those that take no jobs at all before them, where the others are too few. At most
  /// `most`.
  std::vector<Shortage> nearest;
  GateWord gate;                  ///< With Why::Patience, or Why::Order: what it waits for,
  std::vector<Crowd> crowds;      ///< and where there is room.
  std::vector<JobId> behind;      ///< Jobs with a place kept, which this one must not delay.
  std::optional<KeptPlace> kept;  ///< The reservation, if it has one.
  std::string text;               ///< One line: the thing, the value, the limit.
};

/// A place, and the jobs that have to leave before the job fits there; if none, it fits there now.
struct Clearing {
  std::vector<JobId> jobs;  ///< Ascending.
  Placement placement;
};

/// `decided`: Engine::refused() of the job. What a policy refuses for lack of room is said in more
/// detail by the books; a job that it has not come to, or that it does not speak of, lacks room if
/// the books say so. Requires: the view knows the job. Cost: O(GPUs + running jobs).
Explanation explain(const ClusterView& view, JobId job, const std::optional<Refused>& decided,
                    std::size_t most = 4);

/// Those of the place where the job will start are what it waits for, however little others lack.
void put_first(std::vector<Shortage>& nearest, const Placement& place);

/// What is in the way of a job in the end, by what was decided and by whether the books show room.
/// Where jobs take turns it is the turn, though those that have theirs leave no room.
constexpr Why reason_for(const std::optional<Refusal>& decided, bool has_room) {
  using What = GateWord::What;
  const Refusal refusal = decided.value_or(Refusal{.why = Why::Fits});
  const What what = refusal.gate.what;
  const bool is_turn =
      what == What::Turn || what == What::Round || what == What::Plan || what == What::Left;
  switch (refusal.why) {
    case Why::Limit:
    case Why::Patience:
    case Why::Locality:
      return refusal.why;
    case Why::Capacity:
    case Why::Health:
    case Why::Drain:
      return has_room ? Why::Locality : refusal.why;
    case Why::Fits:
    case Why::Reservation:
    case Why::Order:
      break;
  }
  return has_room || is_turn ? refusal.why : Why::Capacity;
}

/// The fewest holders whose end makes room for a job on one placement, found greedily: GPU by GPU
/// the one that needs the fewest more to leave (of equals those planned to end first), largest
/// charge first, within a node if the job fits on one. Places kept for others and users' limits are
/// not looked at. Returns: nothing if it would not fit on the empty cluster either, as its GPUs are
/// out of service or in foreign use. Requires: the view knows the job, which holds no berth. Cost:
/// O(GPUs x (GPUs asked + tenants)).
std::optional<Clearing> what_must_end(const ClusterView& view, JobId job);

/// As Explanation::host. `gpus_on`: by node, those that the job may use. Cost: O(nodes x GPUs asked
/// + running jobs).
std::string host_shortage(const ClusterView& view, const Request& request,
                          std::span<const std::int64_t> gpus_on);

/// How far the job's user is at a limit: `2 of 2 running jobs`, `2 of 3 GPUs`; where the job alone
/// asks for more than that: `3 GPUs are asked for, the limit is 2`.
std::string limit_text(const JobView& job, const ClusterView& view);
/// `needs 8 GiB on one GPU`, `needs 2 whole GPUs`.
std::string needs_text(const Request& request);
/// What a gate lets it wait for, in few words: `GPUs 0, 1 are 85, 88 % busy (limit 75 %)`.
std::string gate_text(const Explanation& found, const ClusterView& view);

/// Whether others may start before a waiting job, and why, under such a policy.
std::string passing_text(Passing::Who who, const Explanation& found);

/// Why the GPU takes no job, or none of this user: `is drained by bob until 18:00 (new fan)`, `was
/// not given to berthd (CUDA_VISIBLE_DEVICES=1,2)`, `is reserved for alice from 22:00 until 06:00`,
/// `is out of service`. "" if it is in use.
std::string closed_text(const Shortage& shortage, const ClusterView& view);

/// `is used by job 3 alone`: then it matters to no other what memory is free there. "" for a GPU
/// whose jobs share it.
std::string held_alone_text(const Shortage& shortage, const ClusterView& view);

/// How many jobs share a GPU that has memory enough and takes no more of them; 0 for others.
std::uint16_t slots_taken(const Shortage& shortage, const ClusterView& view);
/// `GPU 0` where there is one node, `NODE:0` else.
std::string gpu_name(const Cluster& cluster, GpuId gpu);
/// `job 4`, `jobs 4, 9`, `249 jobs, the first are 4, 9, 12`.
std::string list_of(const std::vector<JobId>& jobs, const ClusterView& view);
/// The same of what they are called.
std::string list_of(const std::vector<std::string>& names);

}  // namespace berth
