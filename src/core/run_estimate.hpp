// The run time of a job whose user states none, from the jobs that ended before it (history.hpp).
//
// A job is told by the kind of jobs most like it of which any run is known: same program and GPUs,
// same program, same user and GPUs, same user, same GPUs, all. The estimate is the median of the
// latest runs of that kind: run times have long tails, and a mean is far above most of them
// (doc/results/estimates.md). A pure function of what the engine knows, so it needs no memory of
// its own and a restart loses nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/history.hpp"
#include "core/ids.hpp"
#include "core/input.hpp"
#include "core/job.hpp"
#include "core/time.hpp"
#include "core/view.hpp"

namespace berth {

/// The runs that an estimate is learned from, at most.
inline constexpr std::size_t kMostRuns = 32;

/// How long the latest jobs like this one ran that ran longer than `beyond`, ascending: of the most
/// telling kind that has any; empty if none has. `what` is its program; 0: not known. Jobs that
/// were lost, or ran out of GPU memory, were not at their end and do not count. A user who
/// states a class knows more than runs of other programs show, so those do not count then.
/// O(ended).
std::vector<Duration> runs_like(const JobSpec& job, Fingerprint what, std::span<const Ended> ended,
                                Duration beyond = Duration(-1));

/// The lower one of two. Requires: ascending, not empty.
Duration median_of(std::span<const Duration> runs);

/// Gives a job without an estimate the one that is learned, at most its time limit, and says of how
/// many runs. Changes nothing where the user states one, or nothing is learned.
void learn_estimate(JobSpec& job, Fingerprint what, std::span<const Ended> ended);

/// True for a job that never had a berth and whose user states no run time.
bool may_be_estimated(const Job& job);

/// What waiting jobs are to be told anew, once the last `news` of `ended` have ended: those of a
/// program of which no run was known before them, and, where no run at all was, all that learn from
/// any. So jobs of one program are told alike, whenever they were submitted. `what` has the program
/// of each. O(news x ended), and O(waiting + programs x ended) where there is anything to tell.
std::vector<Estimated> late_estimates(const ClusterView& view, std::span<const Ended> ended,
                                      std::size_t news,
                                      const std::function<Fingerprint(JobId)>& what);

}  // namespace berth
