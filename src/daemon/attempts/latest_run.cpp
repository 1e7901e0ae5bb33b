#include "daemon/attempts/latest_run.hpp"

#include <algorithm>

#include "live/keeper.hpp"

namespace berth::daemon {

namespace {

/// The process went on as the next attempt. Older journals have no end of it.
bool was_suspended(const journal::AttemptRow& attempt) {
  return !attempt.end || attempt.end->note == live::kSuspended;
}

}  // namespace

std::optional<LatestRun> latest_run(const std::vector<journal::AttemptRow>& attempts,
                                    Instant until) {
  std::optional<LatestRun> run;
  Instant next = until;  // when the attempt behind was granted
  for (auto at = attempts.rbegin(); at != attempts.rend() && !at->is_damaged; ++at) {
    if (at->started == kNever) continue;  // that start failed
    if (run && !was_suspended(*at)) break;
    const Instant end = at->end ? at->end->at : next;
    const Instant started = std::min(at->started, end);  // a start may be noticed after the end
    run = LatestRun{.started = started, .ran = (run ? run->ran : Duration(0)) + (end - started)};
    next = at->granted;
  }
  return run;
}

std::optional<LatestRun> latest_run(const journal::JobRow& row, const Job* job,
                                    const journal::Store& store, Instant now) {
  if (row.started == kNever) return std::nullopt;
  if (job != nullptr && !holds_berth(job->state) && !has_idle_process(*job)) return std::nullopt;
  const Instant until = row.end ? row.end->at : now;
  const Instant first = std::min(row.started, until);
  std::optional<LatestRun> run = LatestRun{.started = first, .ran = until - first};
  if (job == nullptr || job->attempt > Attempt(1)) {
    const auto attempts = store.attempts(row.job);
    if (attempts && !attempts->empty() && !attempts->back().is_damaged) {
      const bool is_starting = attempts->back().started == kNever;
      if (job != nullptr && job->ran == job->ran_before && is_starting) return std::nullopt;
      if (const auto found = latest_run(*attempts, until)) run = found;
    }
  }
  if (job != nullptr) run->ran = run_of(*job, std::max(now, job->since));
  return run;
}

}  // namespace berth::daemon
