#include "policy/order/class_judge.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/text/text.hpp"

namespace berth {

Expected<void> check_class_bounds(const Keys& keys) {
  const auto [given, medium] = class_bounds(keys);
  if (given <= medium) return {};
  return fail(ErrorCode::InvalidArgument, "short_bound=" + seconds_text(given) +
                                              "s: must be at most medium_bound, which is " +
                                              seconds_text(medium) + "s");
}

ClassBounds class_bounds(const Keys& keys) {
  return {.short_bound = keys.time(kShortBoundKey.name),
          .medium_bound = keys.time(kMediumBoundKey.name)};
}

Decisions ClassJudge::judge(const ClusterView& view, std::span<const Event> events) {
  judged_.clear();
  stated_.look_back(view, events);
  Decisions decisions;
  if (std::exchange(is_fresh_, false)) {
    outlives_ = {};
    for (const JobId id : view.running()) watch(id, view);
  }
  for (const Event& event : events) watch(event.job, view);
  const std::vector<Outlived> outlived = raise_outlived(view, decisions);
  for (const Event& event : events) {
    const Job* const job = view.find(event.job);
    if (job != nullptr && is_waiting(job->state)) doubt(view.job(event.job), decisions);
  }
  // What was outlived counts from the next pass on.
  for (const Outlived& what : outlived) stated_.note_outlived(what.user, what.was, what.is);
  return decisions;
}

DurationClass ClassJudge::class_of(const JobView& job) const {
  const auto judged = judged_.find(job.id());
  return judged == judged_.end() ? job.duration_class() : judged->second;
}

void ClassJudge::watch(JobId id, const ClusterView& view) {
  outlives_.erase(id);
  const Job* const found = view.find(id);
  if (found == nullptr || !is_running(found->state)) return;
  const JobView job(*found, view.now());
  const DurationClass is = class_after(job.duration_class(), job.ran(), bounds_);
  const Duration bound = bound_of(job.duration_class(), bounds_);
  if (is != job.duration_class()) return outlives_.set(id, view.now());
  if (bound != kForever) outlives_.set(id, later(view.now(), bound - job.ran() + Duration(1)));
}

/// In the order of their numbers.
std::vector<ClassJudge::Outlived> ClassJudge::raise_outlived(const ClusterView& view,
                                                             Decisions& decisions) {
  std::vector<Outlived> outlived;
  std::vector<JobId> due = outlives_.take_due(view.now());
  std::ranges::sort(due);
  for (const JobId id : due) {
    const JobView job = view.job(id);
    const DurationClass is = class_after(job.duration_class(), job.ran(), bounds_);
    if (raise(job, is, decisions)) outlived.push_back({job.user(), job.duration_class(), is});
    const Duration bound = bound_of(is, bounds_);
    if (bound == kForever) continue;
    outlives_.set(id, later(view.now(), bound - job.ran() + Duration(1)));
  }
  if (const auto next = outlives_.next()) {
    decisions.wake_at = std::min(decisions.wake_at.value_or(kNever), *next);
  }
  return outlived;
}

void ClassJudge::doubt(const JobView& job, Decisions& decisions) {
  const DurationClass kept = class_after(job.duration_class(), job.ran(), bounds_);
  raise(job, stated_.believed(kept, job.user()), decisions);
}

/// Returns: whether its class is another from now on.
bool ClassJudge::raise(const JobView& job, DurationClass is, Decisions& decisions) {
  if (is == job.duration_class() || !judged_.emplace(job.id(), is).second) return false;
  stated_.note_raised(job.id(), job.duration_class());
  decisions.list.push_back(Classify{job.id(), is});
  return true;
}

}  // namespace berth
