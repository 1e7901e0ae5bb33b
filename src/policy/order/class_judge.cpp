#include "policy/order/class_judge.hpp"

#include <algorithm>
#include <string>

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
  std::vector<Outlived> outlived;  // counts from the next pass on
  Decisions decisions;
  for (const JobId id : view.running()) watch(view.job(id), view, decisions, outlived);
  for (const Event& event : events) {
    const Job* const job = view.find(event.job);
    if (job != nullptr && is_waiting(job->state)) doubt(view.job(event.job), decisions);
  }
  for (const Outlived& what : outlived) stated_.note_outlived(what.user, what.was, what.is);
  return decisions;
}

DurationClass ClassJudge::class_of(const JobView& job) const {
  const auto judged = judged_.find(job.id());
  return judged == judged_.end() ? job.duration_class() : judged->second;
}

void ClassJudge::watch(const JobView& job, const ClusterView& view, Decisions& decisions,
                       std::vector<Outlived>& outlived) {
  if (job.state() == JobState::Stopping) return;
  const DurationClass is = class_after(job.duration_class(), job.ran(), bounds_);
  if (raise(job, is, decisions)) outlived.push_back({job.user(), job.duration_class(), is});
  const Duration bound = bound_of(is, bounds_);
  if (bound == kForever) return;
  const Instant over = later(view.now(), bound - job.ran() + Duration(1));
  decisions.wake_at = std::min(decisions.wake_at.value_or(kNever), over);
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
