// The contents of a snapshot as one structure, and a check that its parts agree.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/account.hpp"
#include "core/cluster.hpp"
#include "core/job.hpp"
#include "core/knowledge/past_runs.hpp"
#include "core/members.hpp"
#include "core/settings.hpp"
#include "core/trial.hpp"
#include "engine/engine.hpp"

namespace berth {

/// One node of the cluster as it was added, and whether a switch begins with it.
struct NodeRecord {
  bool new_switch = false;
  NodeShape shape;
};

/// Everything else is derived from it, and from the jobs.
struct FrameHead {
  std::vector<NodeRecord> cluster;
  Instant now;
  std::uint64_t grants = 0;
  std::uint64_t decisions = 0;
  std::uint64_t seed = 0;
  std::uint64_t dropped = 0;
  Settings settings;
  std::map<UserId, Account> accounts;
  std::vector<Hold> holds;
  std::vector<GpuUse> gpus;         ///< Measured figures and health; charges are derived.
  std::vector<std::uint8_t> nodes;  ///< Health: 0 or 1.
};

struct Frame : FrameHead {
  std::vector<Job> jobs;  ///< Ascending.
  std::string policy;     ///< Its own memory.
  CompanyRecord company;
  PreemptionBounds bounds;
  std::vector<Ended> ended;
  std::uint64_t ended_count = 0;
  Speeds speeds;
  std::map<GpuId, Drain> drains;
  std::map<ReservationId, Reservation> calendar;
  ReservationId last_reservation;
  PastRuns::Users past_runs;
  PastTerms past_terms;
};

inline auto members(NodeRecord& v) { return std::tie(v.new_switch, v.shape); }
inline auto members(FrameHead& v) {
  return std::tie(v.cluster, v.now, v.grants, v.decisions, v.seed, v.dropped, v.settings,
                  v.accounts, v.holds, v.gpus, v.nodes);
}
inline auto members(Frame& v) {
  return std::tie(static_cast<FrameHead&>(v), v.jobs, v.policy, v.company, v.bounds, v.ended,
                  v.ended_count, v.speeds, v.drains, v.calendar, v.last_reservation, v.past_runs,
                  v.past_terms);
}

/// The first thing in a frame that no engine could have saved; nothing if a state can be built from
/// it without an amount leaving its range. Sums of accounts are Engine::check's.
std::optional<std::string> find_fault(const Frame& frame);

/// Takes out the jobs that find_fault() would name, and those that wait for one of them in vain;
/// where the fault is in something else, none. Sums of accounts are left to the caller.
std::vector<PutAside> put_bad_jobs_aside(Frame& frame);

/// See Engine::set_back(). Requires: `to` is not after the frame's time.
void set_back(Frame& frame, Instant to);

/// See Engine::moved_to().
void move_to(Frame& frame, const Cluster& cluster);

std::vector<NodeRecord> records_of(const Cluster& cluster);
/// Requires: find_fault() found nothing in the frame these are of.
Cluster cluster_of(const std::vector<NodeRecord>& records);

}  // namespace berth
