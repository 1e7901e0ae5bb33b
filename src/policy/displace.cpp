// The part of a pass that preempts: whom a waiting job may displace, and who of them must really
// go.
//
// Memory is not free the moment a job is told to stop, so the job that displaced it is promised the
// place: the promise is kept as a hold from pass to pass until the job starts there.
#include <algorithm>
#include <ranges>
#include <tuple>

#include "policy/pass.hpp"

namespace berth {

void Pass::load_leaving() {
  for (const JobId id : view_.running()) {
    if (view_.find(id)->state == JobState::Stopping) leaving_.push_back(id);
  }
}

/// The place promised to this job in an earlier pass, if it is free by now or still being freed.
bool Pass::keep_promise(JobId id, const Ask& ask) {
  const auto hold = std::ranges::find(view_.holds(), id, &Hold::job);
  if (hold == view_.holds().end() || hold->ask.request != ask.request) return false;
  if (trial_.look(hold->placement, ask, id) == Why::Fits) {
    start(id, ask, hold->placement);
    return true;
  }
  const Trial::Mark mark = trial_.mark();
  take_off_leaving();
  const Why why = trial_.look(hold->placement, ask, id);
  trial_.rollback(mark);
  if (why == Why::Fits) promise(id, ask, hold->placement);
  return why == Why::Fits;
}

/// Beside those that leave: nobody else may take it.
void Pass::promise(JobId id, const Ask& ask, Placement placement) {
  tally_.take(view_.job(id));
  placed_.push_back(id);
  trial_.put(ask, placement);
  holds_.push_back({.job = id,
                    .ask = ask,
                    .placement = std::move(placement),
                    .from = kNever,
                    .after_grant = 0,
                    .awaited = {},
                    .lent = {},
                    .lent_tenants = {},
                    .lent_milli = {}});
}

std::optional<Placement> Pass::place_without_leaving(JobId id, const Ask& ask) {
  if (leaving_.empty()) return std::nullopt;
  const Trial::Mark mark = trial_.mark();
  take_off_leaving();
  Placed placed = placer_.place(ask, id, trial_);
  trial_.rollback(mark);
  return placed ? std::optional(std::move(*placed)) : std::nullopt;
}

void Pass::take_off_leaving() {
  for (const JobId id : leaving_) trial_.take(view_.find(id)->grant);
}

void Pass::rank_running() {
  if (ranked_) return;
  ranked_ = true;
  for (const JobId id : view_.running()) {
    const JobView job = view_.job(id);
    if (job.state() == JobState::Stopping) continue;
    const Ranked ranked = order_.rank(job, view_);
    if (ranked.valid_until) wake(*ranked.valid_until);
    const Instant safe_until = later(job.granted_at(), options_.quantum);
    if (safe_until > view_.now()) {
      wake(safe_until);
    } else {
      running_.push_back({group_rank(job.user()), ranked.rank, id, &job.grant()});
    }
  }
}

/// Puts those of worse rank than this at the end, in order. Waiting jobs come best first, so what
/// is sorted for one serves all that follow, and those that are safe from all are never sorted.
std::size_t Pass::sort_worse_than(const Head& head) {
  const auto key = std::tie(head.group, head.at->rank);
  const bool is_sorted = sorted_from_ && sorted_by_ <= key;
  if (!is_sorted) {
    const auto worse = std::ranges::partition(running_, [&](const Running& running) {
      return std::tie(running.group, running.rank) <= key;
    });
    std::ranges::sort(worse, {}, [](const Running& r) { return std::tie(r.group, r.rank, r.job); });
    sorted_from_ = static_cast<std::size_t>(worse.begin() - running_.begin());
    sorted_by_ = key;
  }
  const auto first = std::ranges::upper_bound(
      std::span(running_).subspan(*sorted_from_), key, {},
      [](const Running& running) { return std::tie(running.group, running.rank); });
  return *sorted_from_ +
         static_cast<std::size_t>(first - std::span(running_).subspan(*sorted_from_).begin());
}

std::vector<std::size_t> Pass::worse_than(const Head& head) {
  rank_running();
  const std::size_t first = sort_worse_than(head);
  std::vector<std::size_t> worst_first;
  for (std::size_t i = running_.size(); i-- > first;) {
    if (!running_[i].gone) worst_first.push_back(i);
  }
  return worst_first;
}

bool Pass::can_gain(const Ask& ask, std::span<const std::size_t> victims) const {
  if (!takes_whole(ask)) return !victims.empty();
  GpuCount gpus = trial_.use().vacant();
  for (const JobId id : leaving_) gpus += view_.job(id).gpus();
  for (const std::size_t victim : victims) {
    if (gpus >= ask.gpus()) break;
    gpus += GpuCount(std::ssize(running_[victim].grant->shares));
  }
  return !victims.empty() && gpus >= ask.gpus();
}

void Pass::take_off(std::span<const std::size_t> victims) {
  for (const std::size_t victim : victims) trial_.take(*running_[victim].grant);
}

/// With fewer there would be too few GPUs. Requires: who leaves is taken off.
std::size_t Pass::least_victims(const Ask& ask, std::span<const std::size_t> victims) const {
  if (!takes_whole(ask)) return 1;
  GpuCount gpus = trial_.use().vacant();
  std::size_t count = 0;
  while (count < victims.size() && gpus < ask.gpus())
    gpus += GpuCount(std::ssize(running_[victims[count++]].grant->shares));
  return std::max<std::size_t>(count, 1);
}

/// Twice as many until there is room, then halves in between: costs what the answer is, not how
/// many there are.
std::optional<std::size_t> Pass::fewest_victims(JobId id, const Ask& ask,
                                                std::span<const std::size_t> victims) {
  const Trial::Mark before = trial_.mark();
  std::size_t too_few = 0;
  Trial::Mark without_too_few = before;
  const auto suffices = [&](std::size_t count) {
    trial_.rollback(without_too_few);
    take_off(victims.subspan(too_few, count - too_few));
    if (placer_.place(ask, id, trial_)) return true;
    too_few = count;
    without_too_few = trial_.mark();
    return false;
  };
  std::size_t enough = least_victims(ask, victims);
  while (!suffices(enough) && enough < victims.size())
    enough = std::min(2 * enough, victims.size());
  const bool found = too_few < enough;
  while (found && too_few + 1 < enough) {
    const std::size_t middle = (too_few + enough) / 2;
    if (suffices(middle)) enough = middle;
  }
  trial_.rollback(before);
  return found ? std::optional(enough) : std::nullopt;
}

bool Pass::displace_for(const Head& head, const Ask& ask) {
  const JobId id = head.at->job;
  const std::vector<std::size_t> victims = worse_than(head);
  if (!can_gain(ask, victims)) return false;
  const Trial::Mark mark = trial_.mark();
  take_off_leaving();
  const auto count = fewest_victims(id, ask, victims);
  if (!count) {
    trial_.rollback(mark);
    return false;
  }
  const auto chosen = std::span(victims).first(*count);
  take_off(chosen);
  Placement placement = *placer_.place(ask, id, trial_);
  trial_.put(ask, placement);
  std::vector<std::size_t> displaced;
  for (const std::size_t victim : std::views::reverse(chosen)) {  // best first: some may stay
    const JobView job = view_.job(running_[victim].job);
    if (trial_.look(placement_of(job.grant()), ask_of(job), job.id()) == Why::Fits) {
      trial_.put(job.grant());
    } else {
      displaced.push_back(victim);
    }
  }
  trial_.rollback(mark);
  for (const std::size_t victim : displaced) displace(victim);
  promise(id, ask, std::move(placement));
  return true;
}

void Pass::displace(std::size_t victim) {
  running_[victim].gone = true;
  leaving_.push_back(running_[victim].job);
  decisions_.list.push_back(Preempt{.job = running_[victim].job, .how = options_.preempt_how});
}

}  // namespace berth
