// The latest run of a job: since its latest start from nothing, over its suspensions. It is what a
// time limit bounds, and what clients show as the job's start and elapsed time.
#pragma once

#include <optional>
#include <vector>

#include "core/job.hpp"
#include "journal/store.hpp"

namespace berth::daemon {

struct LatestRun {
  Instant started;
  Duration ran{0};  ///< Without the time in which it was suspended.
};

/// By its attempts, ascending. `until`: when the last one ended, if its row does not say so.
std::optional<LatestRun> latest_run(const std::vector<journal::AttemptRow>& attempts,
                                    Instant until);

/// `job`: what the engine has of it; null for one that has ended. Nothing for a job that has not
/// started, or that waits to start again.
std::optional<LatestRun> latest_run(const journal::JobRow& row, const Job* job,
                                    const journal::Store& store, Instant now);

}  // namespace berth::daemon
