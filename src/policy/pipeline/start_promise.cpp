#include "policy/pipeline/start_promise.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/assert.hpp"

namespace berth {

void StartPromise::make(JobId id, const Ask& ask) {
  BERTH_ASSERT(!is_made());
  const bool is_known =
      known_ && walk_.started().empty() && known_->job == id && known_->ask == ask;
  shadow_ = is_known ? std::move(known_) : shadow_of(walk_, departures_, id, ask);
  if (!shadow_) return;
  at_start_.emplace(walk_, departures_, *shadow_);
  if (!is_known) at_start_->stay_where_kept();
  walk_.tally().take(id, ask.gpus());
}

std::optional<Placement> StartPromise::place_beside(JobId id, const Ask& ask, Placement wanted) {
  if (!is_made() || !is_outlasted_by(id)) return wanted;
  auto place = at_start_->place_beside(id, ask, std::move(wanted));
  if (place) at_start_->put(ask, *place);
  return place;
}

StartPromise LastPromise::follow(Walk& walk) {
  const PassContext& context = walk.context();
  const ClusterView& view = walk.view();
  const bool holds = departures_.follow(view, context.events, walk.plans(), context.is_fresh);
  const auto is_kept = [&] {
    const auto kept = std::ranges::find(view.holds(), shadow_->job, &Hold::job);
    return kept != view.holds().end() && kept->placement == shadow_->place;
  };
  const bool is_true =
      holds && !walk.options().rebuild && shadow_ && shadow_->start > view.now() && is_kept();
  return StartPromise(walk, departures_, is_true ? shadow_ : std::nullopt);
}

void LastPromise::keep(const StartPromise& promise, Walk& walk, std::vector<Hold> others) {
  shadow_ = promise.shadow();
  const bool is_kept =
      shadow_ && std::ranges::find(others, shadow_->job, &Hold::job) != others.end();
  if (shadow_ && !is_kept) others.insert(others.begin(), hold_of(*shadow_, walk, departures_));
  walk.keep(std::move(others));
  if (shadow_) {
    walk.wake(departures_.first_doubt(shadow_->start, walk.view(), walk.started(), walk.plans()));
  }
  departures_.add(walk.view(), walk.started(), walk.plans());
}

}  // namespace berth
