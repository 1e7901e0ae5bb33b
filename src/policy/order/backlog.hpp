// The work that waits, by user, and how long a cluster shared equally would need for it.
//
// The work of a job is the part of the cluster that it asks for times its run time. Touches only
// what changed: O(log users) per changed job.
#pragma once

#include <cstdint>
#include <map>

#include "core/base/id_map.hpp"
#include "core/base/wide.hpp"
#include "core/view.hpp"

namespace berth {

/// Parts per billion of the cluster, times microseconds.
using Work = Wide;

/// The part of the cluster that an ask takes, in parts per billion: the larger of its share of GPU
/// memory and of GPU time; of cores and memory of hosts for an ask without GPUs.
std::int64_t part_of(const Ask& ask, const Cluster& cluster);

class Backlog {
 public:
  /// A job waits. Requires: it is not in here.
  void add(JobId job, UserId user, Work work);
  /// It does no longer; an unknown job changes nothing.
  void remove(JobId job);
  void clear() { *this = Backlog(); }

  /// What waits of this user.
  Work of(UserId user) const;
  /// How long the whole cluster would need for `running` and for all that must be done before this
  /// user's waiting work is, if users had equal parts of it, or parts by weight: of each other
  /// user's work only as much as is done meanwhile (processor sharing between users, as in fair
  /// queueing: Demers, Keshav and Shenker, SIGCOMM 1989). O(users with waiting jobs).
  Duration until_done(UserId user, Work running, const ClusterView& view) const;

 private:
  struct Waiting {
    Work work = 0;
    std::int64_t jobs = 0;
  };
  struct Entry {
    UserId user;
    Work work;
  };
  IdMap<JobId, Entry> jobs_;
  std::map<UserId, Waiting> users_;  ///< Each has a job.
};

}  // namespace berth
