#include "engine/leaving.hpp"

#include <algorithm>
#include <ranges>

#include "engine/explain.hpp"

namespace berth {

namespace {

std::vector<JobId> distinct(std::vector<JobId> jobs) {
  std::ranges::sort(jobs);
  const auto rest = std::ranges::unique(jobs);
  jobs.erase(rest.begin(), rest.end());
  return jobs;
}

/// A job, and the place where it starts.
struct Arrival {
  JobId job;
  UserId user;
  Ask ask;
  Placement placement;
};

/// Puts those that left back, the last to leave first, as far as the job fits beside them.
/// `account`: of the user without the job. Returns: the rest; none if the books do not show why it
/// fits, as under another admission.
std::vector<JobId> needed(std::span<const Departure> left, const Arrival& one, Trial& trial,
                          Account account, const UserLimits& limits) {
  std::vector<JobId> jobs;
  if (trial.look(one.placement, one.ask, one.job) != Why::Fits) return jobs;
  for (const Departure& leaving : left | std::views::reverse) {
    const Trial::Mark mark = trial.mark();
    trial.put(leaving.grant);
    const bool is_own = leaving.user == one.user;
    const GpuCount gpus = account.gpus + (is_own ? leaving.grant.gpus() : GpuCount(0));
    const std::int32_t berths = account.jobs + (is_own ? 1 : 0);
    const bool fits = trial.look(one.placement, one.ask, one.job) == Why::Fits &&
                      within(limits, gpus, berths, one.ask.gpus());
    if (fits) {
      account.gpus = gpus;
      account.jobs = berths;
    } else {
      trial.rollback(mark);
      jobs.push_back(leaving.job);
    }
  }
  return jobs;
}

}  // namespace

std::vector<JobId> needed_of(std::span<const Departure> left, const ClusterView& view,
                             const Job& job) {
  Arrival one{.job = job.id,
              .user = job.spec.user,
              .ask = ask_of(JobView(job, view.now()), job.grant.gpus()),
              .placement = placement_of(job.grant)};
  one.ask.request.gpu.sharing = job.grant.sharing;  // a policy may ask for more than its user did
  Trial trial = view.trial();
  trial.take(job.grant);
  Account account = view.account(one.user);
  account.gpus = account.gpus - job.grant.gpus();
  --account.jobs;
  return distinct(needed(left, one, trial, account, view.settings().limits_of(one.user)));
}

std::vector<JobId> in_the_way_of(std::span<const Departure> left, const ClusterView& view,
                                 JobId id) {
  auto clearing = what_must_end(view, id);
  if (!clearing) return {};
  const JobView job = view.job(id);
  const Arrival one{
      .job = id, .user = job.user(), .ask = ask_of(job), .placement = clearing->placement};
  std::vector<JobId> jobs = std::move(clearing->jobs);
  Trial trial = view.trial();
  for (const JobId holder : jobs) trial.take(view.find(holder)->grant);
  // Whether a limit is in the way is not known where it does not start.
  const auto more = needed(left, one, trial, {}, {});
  jobs.insert(jobs.end(), more.begin(), more.end());
  return distinct(std::move(jobs));
}

}  // namespace berth
