// The run time of a job whose user states none, from the runs of its program that ended before it
// (past_runs.hpp).
//
// A job is told by runs of the same user's same program: those on as many GPUs if they are enough,
// else all. The estimate is the median of the latest ones: run times have long tails, and a mean is
// far above most of them (doc/results/estimates.md). Runs of other programs and of other users show
// nothing, and neither do few: such a run time is unknown, and what the user says of it (limit,
// class) is all that is known. A pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/history.hpp"
#include "core/input.hpp"
#include "core/job.hpp"
#include "core/knowledge/past_runs.hpp"
#include "core/view.hpp"

namespace berth {

/// The fewest runs of a program that its run time is learned from, unless configured otherwise.
inline constexpr std::size_t kFewestRuns = 5;

/// What run times are learned from.
struct Lessons {
  const PastRuns& runs;
  std::size_t fewest = kFewestRuns;  ///< At least 1.
};

/// How long the latest runs of this job's program `what` took that took longer than `beyond`,
/// ascending: of those on as many GPUs as it asks for if they are enough and any of them did, else
/// of all. Empty if there are too few of its program, or none took so long.
std::vector<Duration> runs_like(const JobSpec& job, Fingerprint what, const Lessons& lessons,
                                Duration beyond = Duration(-1));

/// The lower one of two. Requires: ascending, not empty.
Duration median_of(std::span<const Duration> runs);

/// Gives a job without an estimate the one that is learned, at most its time limit, and says of how
/// many runs. Changes nothing where the user states one, or nothing is learned.
void learn_estimate(JobSpec& job, Fingerprint what, const Lessons& lessons);

/// True for a job that never had a berth and whose user states no run time.
bool may_be_estimated(const Job& job);

/// What waiting jobs are to be told anew, once these have ended, which the lessons contain: those
/// of a program of which there were too few runs before them. So jobs of one program are told
/// alike, whenever they were submitted. `what` has the program of each. O(latest), and O(waiting)
/// where there is anything to tell.
std::vector<Estimated> late_estimates(const ClusterView& view, const Lessons& lessons,
                                      std::span<const Ended> latest,
                                      const std::function<Fingerprint(JobId)>& what);

}  // namespace berth
