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

/// A job that is there when the other one starts, or would be, had it not left.
struct Stay {
  UserId user;
  Instant from;
  const Grant* grant;
};

/// Has to do with whether the job fits: on its GPUs, its user's, or anywhere if it wants a part of
/// the host.
bool is_near(const Grant& grant, UserId user, const Arrival& one) {
  const Request& asked = one.ask.request;
  if (user == one.user || asked.cpu > CpuMilli(0) || asked.host > Bytes(0)) return true;
  return std::ranges::any_of(grant.shares, [&](const Share& share) {
    return std::ranges::find(one.placement.gpus, share.gpu) != one.placement.gpus.end();
  });
}

/// Those that are there, but for the job itself and these.
std::vector<Stay> stays_of(const ClusterView& view, const Arrival& one,
                           std::span<const JobId> without) {
  std::vector<Stay> stays;
  for (const JobId id : view.running()) {
    const Job& job = *view.find(id);
    const bool counts = id != one.job && std::ranges::find(without, id) == without.end();
    if (counts && is_near(job.grant, job.spec.user, one)) {
      stays.push_back({.user = job.spec.user, .from = job.since, .grant = &job.grant});
    }
  }
  return stays;
}

/// Puts those that left back, the last to leave first, as far as the job fits beside each and what
/// was there with it: had it stayed, nothing would have started in its place. `stays`: what is on
/// the trial. Returns: the rest; none if the books do not show why it fits, as under another
/// admission.
std::vector<JobId> needed(std::span<const Departure> left, const Arrival& one, Trial& trial,
                          std::vector<Stay> stays, const UserLimits& limits) {
  std::vector<JobId> jobs;
  if (trial.look(one.placement, one.ask, one.job) != Why::Fits) return jobs;
  for (const Departure& leaving : left | std::views::reverse) {
    if (!is_near(leaving.grant, leaving.user, one)) continue;
    const Trial::Mark mark = trial.mark();
    GpuCount gpus = leaving.user == one.user ? leaving.grant.gpus() : GpuCount(0);
    std::int32_t berths = leaving.user == one.user ? 1 : 0;
    for (const Stay& stay : stays) {
      if (stay.from >= leaving.at) {
        trial.take(*stay.grant);
      } else if (stay.user == one.user) {
        gpus += stay.grant->gpus();
        ++berths;
      }
    }
    trial.put(leaving.grant);
    const bool fits = trial.look(one.placement, one.ask, one.job) == Why::Fits &&
                      within(limits, gpus, berths, one.ask.gpus());
    trial.rollback(mark);
    if (!fits) {
      jobs.push_back(leaving.job);
      continue;
    }
    trial.put(leaving.grant);
    stays.push_back({.user = leaving.user, .from = leaving.from, .grant = &leaving.grant});
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
  return distinct(
      needed(left, one, trial, stays_of(view, one, {}), view.settings().limits_of(one.user)));
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
  const auto more = needed(left, one, trial, stays_of(view, one, jobs), {});
  jobs.insert(jobs.end(), more.begin(), more.end());
  return distinct(std::move(jobs));
}

}  // namespace berth
