#include "policy/pipeline/returning.hpp"

#include <algorithm>
#include <utility>

namespace berth {

void ReturningJobs::add(JobId id, Returning::Stops stops) {
  const ClusterView& view = walk_.view();
  Job stopped = *view.find(id);
  stopped.ran = view.job(id).ran();
  stopped.attained = view.job(id).attained();
  stopped.since = view.now();
  stopped.state = JobState::Queued;
  const JobView job(stopped, view.now());
  Lane lane{.key = {.user = job.user(), .ask = ask_of(job)},
            .jobs = {{.rank = walk_.order().rank(job, view).rank, .job = id}}};
  jobs_.push_back({.lane = std::move(lane), .stops = stops});
  by_job_[id] = &jobs_.back();
}

void ReturningJobs::stop(std::span<const Hold> promised) {
  for (const Returning& returning : jobs_) {
    if (returning.stops != Returning::Stops::Now) continue;
    const JobId id = returning.job();
    const auto to = std::ranges::find(promised, id, &Hold::job);
    if (to == promised.end()) {
      walk_.decisions().list.push_back(Preempt{.job = id});
    } else {
      walk_.decisions().list.push_back(Migrate{.job = id, .placement = to->placement});
    }
  }
}

}  // namespace berth
