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
  shadow_ = is_known ? std::move(known_) : shadow_of(walk_, id, ask);
  if (!shadow_) return;
  at_start_.emplace(walk_, *shadow_);
  if (!is_known) at_start_->stay_where_kept();
  walk_.tally().take(id, ask.gpus());
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
  if (!shadow_) return;
  walk.wake(first_doubt(walk.view(), walk.started(), walk.plans(), shadow_->start));
}

}  // namespace berth
