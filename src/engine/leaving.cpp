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

/// The jobs that would be there, those that began last first.
class Stays {
 public:
  Stays(std::vector<Stay> all, Trial& trial, UserId user)
      : all_(std::move(all)), trial_(trial), user_(user) {
    std::ranges::make_heap(all_, {}, &Stay::from);
    for (const Stay& one : all_) count(one, 1);
  }

  /// Those that began at this time or later are not there.
  void go_back_to(Instant at) {
    while (!all_.empty() && all_.front().from >= at) {
      trial_.take(*all_.front().grant);
      count(all_.front(), -1);
      std::ranges::pop_heap(all_, {}, &Stay::from);
      all_.pop_back();
    }
  }
  /// Requires: it is on the trial.
  void add(const Stay& one) {
    all_.push_back(one);
    std::ranges::push_heap(all_, {}, &Stay::from);
    count(one, 1);
  }
  GpuCount gpus_of_user() const { return gpus_; }
  std::int32_t berths_of_user() const { return berths_; }

 private:
  void count(const Stay& one, std::int32_t times) {
    if (one.user != user_) return;
    gpus_ += GpuCount(one.grant->gpus().raw() * times);
    berths_ += times;
  }

  std::vector<Stay> all_;
  Trial& trial_;
  UserId user_;
  GpuCount gpus_{0};
  std::int32_t berths_ = 0;
};

/// Puts those that left back, the last to leave first, as far as the job fits beside each and what
/// was there with it: had it stayed, nothing would have started in its place. `there`: what is on
/// the trial. Returns: the rest; none if the books do not show why it fits, as under another
/// admission.
std::vector<JobId> needed(std::span<const Departure> left, const Arrival& one, Trial& trial,
                          std::vector<Stay> there, const UserLimits& limits) {
  std::vector<JobId> jobs;
  if (trial.look(one.placement, one.ask, one.job) != Why::Fits) return jobs;
  Stays stays(std::move(there), trial, one.user);
  for (const Departure& leaving : left | std::views::reverse) {
    if (!is_near(leaving.grant, leaving.user, one)) continue;
    stays.go_back_to(leaving.at);
    const bool is_own = leaving.user == one.user;
    const GpuCount gpus = stays.gpus_of_user() + (is_own ? leaving.grant.gpus() : GpuCount(0));
    const Trial::Mark mark = trial.mark();
    trial.put(leaving.grant);
    const bool fits =
        trial.look(one.placement, one.ask, one.job) == Why::Fits &&
        within(limits, gpus, stays.berths_of_user() + (is_own ? 1 : 0), one.ask.gpus());
    if (fits) {
      stays.add({.user = leaving.user, .from = leaving.from, .grant = &leaving.grant});
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
