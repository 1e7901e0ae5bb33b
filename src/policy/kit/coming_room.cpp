#include "policy/kit/coming_room.hpp"

#include <algorithm>
#include <utility>

#include "core/base/assert.hpp"
#include "policy/kit/diff.hpp"

namespace berth {

void ComingRoom::add(JobId job) {
  BERTH_ASSERT(holds_berth(view_.job(job).state()));
  leaving_.push_back(job);
}

std::optional<Placement> ComingRoom::place(JobId job, const Ask& ask) {
  if (leaving_.empty()) return std::nullopt;
  if (vacancy_.begin(ask, placer_, trial_)) {
    for (const JobId id : leaving_) vacancy_.stop(view_.find(id)->grant);
    if (!vacancy_.may_fit()) return std::nullopt;
  }
  const Trial::Mark mark = trial_.mark();
  take_off_leaving();
  Placed placed = placer_.place(ask, job, trial_);
  trial_.rollback(mark);
  return placed ? std::optional(std::move(*placed)) : std::nullopt;
}

Why ComingRoom::look(const Placement& placement, const Ask& ask, JobId job) {
  const Trial::Mark mark = trial_.mark();
  take_off_leaving();
  const Why why = trial_.look(placement, ask, job);
  trial_.rollback(mark);
  return why;
}

void ComingRoom::promise(JobId job, const Ask& ask, Placement placement) {
  trial_.put(ask, placement);
  promised_.push_back({.job = job, .ask = ask, .placement = std::move(placement)});
}

bool ComingRoom::spare(JobId job, const Ask& ask) {
  const auto counts = [&](JobId id) { return only_number_matters(*view_.find(id)); };
  if (!placer_.is_fungible() || !counts(job)) return false;
  if (!std::ranges::all_of(promised_, counts, &Hold::job)) return false;
  const Trial::Mark mark = trial_.mark();
  auto others = promised_beside(job, ask);
  trial_.rollback(mark);
  if (!others) return false;
  take_off_promised();
  promised_ = std::move(*others);
  for (const Hold& hold : promised_) trial_.put(hold.ask, hold.placement);
  std::erase(leaving_, job);
  return true;
}

/// The places promised if this job stays; nothing if it cannot. Changes the trial.
std::optional<std::vector<Hold>> ComingRoom::promised_beside(JobId job, const Ask& ask) {
  take_off_leaving();
  take_off_promised();
  const Grant& own = view_.job(job).grant();
  if (trial_.look(placement_of(own), ask, job) != Why::Fits) return std::nullopt;
  trial_.put(own);
  std::vector<Hold> holds = promised_;
  std::vector<Hold*> in_its_way;
  for (Hold& hold : holds) {
    if (trial_.look(hold.placement, hold.ask, hold.job) == Why::Fits) {
      trial_.put(hold.ask, hold.placement);
    } else {
      in_its_way.push_back(&hold);
    }
  }
  for (Hold* const hold : in_its_way) {
    Placed placed = placer_.place(hold->ask, hold->job, trial_);
    if (!placed) return std::nullopt;
    trial_.put(hold->ask, *placed);
    hold->placement = std::move(*placed);
  }
  return holds;
}

void ComingRoom::take_off_leaving() {
  for (const JobId id : leaving_) trial_.take(view_.find(id)->grant);
}

void ComingRoom::take_off_promised() {
  for (const Hold& hold : promised_) {
    trial_.take(trial_.use().grant_for(view_.cluster(), hold.ask, hold.placement));
  }
}

}  // namespace berth
