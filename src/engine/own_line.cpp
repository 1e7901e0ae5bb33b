// The order of a user's own jobs: those with larger priorities take the earlier places in line.
//
// A place in line is a time. Where a policy orders jobs by arrival it goes by that time, so the
// jobs of one user change places among themselves, no policy has to know of priorities, and the
// places of other users stay as they are.
#include <algorithm>

#include "engine/engine.hpp"

namespace berth {

namespace {

/// Equal places are in the order of ids, so a later id needs a later place before an earlier one.
Instant next_place(const Job& before, const Job& job, Instant place) {
  const Instant last = later(before.submitted, before.line_shift);
  return std::max(place, job.id < before.id ? later(last, Duration(1)) : last);
}

}  // namespace

void Engine::note_place(const Job& job) {
  if (job.spec.priority != 0 || job.line_shift != Duration::zero()) ranking_.insert(job.spec.user);
}

/// Of users who gave no priorities nothing is looked at.
void Engine::order_own_jobs() {
  if (!state_.settings.own_priority || ranking_.empty()) return;
  std::set<UserId> users;
  for (const Event& event : events_) {
    const Job* const job = state_.jobs.find(event.job);
    const bool may_move = job != nullptr && event.kind == EventKind::Submitted;
    if (may_move && ranking_.contains(job->spec.user)) users.insert(job->spec.user);
  }
  for (const UserId user : users) order_jobs_of(user);
}

void Engine::order_jobs_of(UserId user) {
  std::vector<Job*> jobs;
  std::vector<Instant> places;
  view().for_each_pending([&](const JobView& waiting) {
    Job& job = state_.jobs.at(waiting.id());
    if (waiting.user() != user || !waits_for_its_first_berth(job)) return;
    jobs.push_back(&job);
    places.push_back(waiting.in_line_since());
  });
  std::ranges::sort(places);
  std::ranges::sort(jobs, [](const Job* one, const Job* other) {
    return std::pair(-one->spec.priority, one->id) < std::pair(-other->spec.priority, other->id);
  });
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Job& job = *jobs[i];
    const Instant place = i == 0 ? places[i] : next_place(*jobs[i - 1], job, places[i]);
    const Duration shift = place - job.submitted;
    if (shift == job.line_shift) continue;
    job.line_shift = shift;
    drop_holds(job.id);
    emit(EventKind::Withdrawn, job.id);  // policies know it by its place
    emit(EventKind::Submitted, job.id);
  }
}

}  // namespace berth
