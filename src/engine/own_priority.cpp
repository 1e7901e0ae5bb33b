// Which of a user's jobs starts when the policy starts one of them.
//
// A policy orders the jobs of all users. Where it starts a job, and another of the same user asks
// for the same, was given a larger priority and waits as well, that one takes its place. The place
// and the time stay that user's, so that nothing changes for others, and no policy has to know.
#include <algorithm>

#include "engine/engine.hpp"

namespace berth {

namespace {

/// Whether its place is any better for it than for another: it never had one.
bool never_ran(const Job& job) {
  return job.state == JobState::Queued && job.attempt == Attempt(0);
}

}  // namespace

void Engine::follow_priority(const Job& job) {
  if (job.spec.priority > 0) preferred_[job.spec.user].insert({-job.spec.priority, job.id});
}

void Engine::leave_priority(const Job& job) {
  if (job.spec.priority <= 0) return;
  const auto found = preferred_.find(job.spec.user);
  if (found == preferred_.end()) return;
  found->second.erase({-job.spec.priority, job.id});
  if (found->second.empty()) preferred_.erase(found);
}

/// A job that may run longer would delay others who wait; there may be none.
bool Engine::goes_before(const Job& job, const Job& other) const {
  const Ask ask = ask_of(JobView(job, now_));
  const Ask its = ask_of(JobView(other, now_));
  if (ask.request != its.request || job.spec.duration_class != other.spec.duration_class) {
    return false;
  }
  if (ask.planned <= its.planned) return true;
  bool others_wait = false;
  view().for_each_pending([&](const JobView& waiting) {
    others_wait = others_wait || waiting.user() != job.spec.user;
  });
  return !others_wait;
}

const Job* Engine::preferred_to(const Job& job, const std::set<JobId>& starting) const {
  const auto of_user = preferred_.find(job.spec.user);
  if (of_user == preferred_.end()) return nullptr;
  for (const auto& [negative, id] : of_user->second) {
    if (-negative <= job.spec.priority) break;
    const Job& other = state_.jobs.at(id);
    if (never_ran(other) && !starting.contains(id) && goes_before(other, job)) return &other;
  }
  return nullptr;
}

void Engine::put_preferred_first(std::span<Decision> list) {
  if (!state_.settings.own_priority || preferred_.empty()) return;
  std::vector<Start*> starts;
  std::set<JobId> starting;
  for (Decision& decision : list) {
    auto* const start = std::get_if<Start>(&decision);
    const Job* const job = start == nullptr ? nullptr : state_.jobs.find(start->job);
    if (job == nullptr) continue;
    starting.insert(job->id);
    const bool is_plain = start->term == kForever && job->spec.deadline == kNever;
    if (is_plain && never_ran(*job)) starts.push_back(start);
  }
  // The least of them gives way first, and of equals the last.
  std::ranges::reverse(starts);
  std::ranges::stable_sort(
      starts, {}, [&](const Start* start) { return state_.jobs.at(start->job).spec.priority; });
  for (Start* const start : starts) {
    const Job* const other = preferred_to(state_.jobs.at(start->job), starting);
    if (other == nullptr) continue;
    emit(EventKind::Withdrawn, start->job);  // the policy took it for started
    emit(EventKind::Submitted, start->job);
    wake(now_ + Duration(1));
    start->job = other->id;
    starting.insert(other->id);
  }
}

}  // namespace berth
