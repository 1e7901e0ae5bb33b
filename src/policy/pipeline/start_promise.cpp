#include "policy/pipeline/start_promise.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace berth {

namespace {

/// When the first of the jobs that it rests on, and that no limit ends, is foreseen to leave later
/// than now: then the promise moves, and jobs may pass that could not.
Instant first_doubt(const Shadow& shadow, const Walk& walk) {
  const ClusterView& view = walk.view();
  const Plans plans = walk.plans();
  Instant first = kNever;
  const auto doubt = [&](JobId id) {
    const JobView job = view.job(id);
    const bool is_sure = job.spec().time_limit != kForever || job.state() == JobState::Stopping;
    if (is_sure || plans.foreseen_end(job, view.now()) > shadow.start) return;
    first = std::min(first, later(view.now(), plans.holds_for(job)));
  };
  std::ranges::for_each(view.running(), doubt);
  std::ranges::for_each(walk.started(), doubt, &Fresh::job);
  return first;
}

}  // namespace

void StartPromise::make(JobId id, const Ask& ask) {
  const bool is_known =
      known_ && walk_.started().empty() && known_->job == id && known_->ask == ask;
  shadow_ = is_known ? std::move(known_) : shadow_of(walk_, id, ask);
  if (!shadow_) return;
  at_start_.emplace(walk_, *shadow_);
  if (!is_known) at_start_->stay_where_kept();
  walk_.tally().take(walk_.view().job(id));
}

std::optional<Placement> StartPromise::place_beside(JobId id, const Ask& ask, Placement wanted) {
  if (!is_made() || !is_outlasted_by(id)) return wanted;
  auto place = at_start_->place_beside(id, ask, std::move(wanted));
  if (place) at_start_->put(ask, *place);
  return place;
}

std::optional<Shadow> LastPromise::still_true(const Walk& walk) const {
  const ClusterView& view = walk.view();
  if (walk.options().rebuild || !shadow_ || shadow_->start <= view.now()) return std::nullopt;
  const auto kept = std::ranges::find(view.holds(), shadow_->job, &Hold::job);
  if (kept == view.holds().end() || kept->placement != shadow_->place) return std::nullopt;
  return outlook_.look(view, walk.plans()) == Outlook::Change::None ? shadow_ : std::nullopt;
}

void LastPromise::keep(const StartPromise& promise, Walk& walk, std::vector<Hold> others) {
  shadow_ = promise.shadow();
  outlook_.note(walk.view(), walk.started(), walk.plans());
  const bool is_kept =
      shadow_ && std::ranges::find(others, shadow_->job, &Hold::job) != others.end();
  if (shadow_ && !is_kept) others.insert(others.begin(), hold_of(*shadow_, walk));
  walk.keep(std::move(others));
  if (shadow_) walk.wake(first_doubt(*shadow_, walk));
}

}  // namespace berth
