// Starts that Slurm was told to make and does not, by Slurm's own word: how long it is given, on
// which nodes the job is not tried again, and how long it waits without a place.
//
// No such start is the last. Nodes that did not take the job are barred for it, the others are
// tried at once; when none is left, and where the word is of a limit that holds on all, it waits,
// longer each time. A bar ends by itself, as the others may be busy for days. Belongs to the
// engine's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/cluster.hpp"
#include "core/job.hpp"

namespace berth::slurm {

/// True for a word as `AssocMaxJobsLimit` or `ReqNodeNotAvail`, which does not change by itself in
/// a while; false for `Resources`, `Priority` and none.
bool is_refusal(std::string_view word);

/// True for a word, or an error's text, that is of no node: a limit of an account, a QOS, a
/// licence.
bool is_of_all_nodes(std::string_view word);

/// What follows a start that was not made.
struct NextTry {
  Duration wait{0};  ///< Without a place.
  GpuSet only = 0;   ///< The GPUs that are not barred; 0: any.
};

class UnmadeStarts {
 public:
  /// A start of this job on its grant was not made, for this word of Slurm's.
  NextTry add(const Job& job, const Cluster& cluster, std::string_view word);
  /// Of a job that still waits on the GPUs that were not barred a quarter of an hour after it could
  /// start there: those that it may have again, 0: any. A bar of before a restart counts, by what
  /// is left of it: all GPUs of some nodes from some time on.
  std::optional<GpuSet> over(const Job& job, const Cluster& cluster, Instant now);
  /// It has started, or is gone. Returns: false if none of its starts was not made.
  bool forget(JobId job) { return jobs_.erase(job) > 0; }

 private:
  struct Unmade {
    std::int32_t rounds = 0;  ///< In which each node that is no smaller was tried.
    std::set<NodeId> barred;
    GpuSet own = 0;  ///< Its user's.
  };
  std::map<JobId, Unmade> jobs_;
};

}  // namespace berth::slurm
