// What no schedule can be below: a lower bound on the mean JCT of jobs on a cluster, for one that
// knows the future, preempts at no cost and splits GPUs at will.
//
// A job j is submitted at r, runs for p at least (at its fastest speed), and takes D of the GPUs'
// slots, of their compute or of their memory (demand.hpp), of which there are C. The bound is the
// largest of these over the three resources, each a relaxation of every schedule, in which GPUs
// have no places and jobs no other needs:
//
// 1. One machine of speed C with the work D x p of each job, at any rate. Shortest remaining work
//    first has ended the most jobs at every instant (Schrage, Operations Research 16, 1968), and no
//    more jobs than those with r + p <= t have ended at t. So the k-th end is not before the later
//    of the k-th of the one and the k-th of the other.
// 2. A job that ends at E has done its work on average at E - p/2 at the latest, because its rate
//    is at most 1. The sum of these averages is the least on that machine if the job of the least
//    work among those submitted always runs (Goemans et al., SIAM J. Discrete Math. 15, 2002;
//    without submission times Eastman, Even and Isaacs, Management Science 11, 1964). That is taken
//    of those stretches of time, and of the jobs up to those sizes, of which it says more than that
//    no job ends before r + p.
//
// It is tight for one job at a time on one GPU (1), and for equal jobs on equal GPUs that all come
// at once (2). Under low load it says no more than that jobs take their run time. doc/metrics.md
// has the proof.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/cluster.hpp"
#include "report/demand.hpp"
#include "sim/options.hpp"
#include "sim/simulator.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

struct Bound {
  std::size_t jobs = 0;  ///< Of which it is.
  double jct = 0;        ///< Seconds, mean.
  /// Likewise, where jobs run as fast as alone and lose no work, so that a run time is what it is
  /// alone; nothing elsewhere, because a wait may be exchanged for a longer run time.
  std::optional<double> wait;
};

/// The bounds of runs of one trace under different policies. Of all that the options say only the
/// admission and the speeds on types of GPU count, and whether the machine is perfect: everything
/// else makes no schedule faster. Requires: no job runs on more or fewer GPUs than it asks for; all
/// outlive it.
class Bounds {
 public:
  Bounds(const trace::Trace& trace, const Cluster& cluster, const Options& options);

  /// Of the jobs that ended, of the measured ones if only those count; nothing if there are none.
  /// O(jobs log jobs); O(jobs) if they are those of the call before.
  const std::optional<Bound>& of(const Result& result);

 private:
  std::optional<Bound> bound(bool is_perfect) const;

  const trace::Trace& trace_;
  const Options& options_;
  Demands demands_;
  double gpus_;
  std::vector<bool> counted_;  ///< The jobs of `last_`, by place in the trace.
  std::optional<Bound> last_;
};

}  // namespace berth::sim
