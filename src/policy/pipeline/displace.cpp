// The part of a pass that preempts: whom a waiting job may displace, and who of them must really
// go.
//
// Memory is not free the moment a job is told to stop, so the job that displaced it is promised the
// place: the promise is kept as a hold from pass to pass until the job starts there.
#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>

#include "policy/kit/diff.hpp"
#include "policy/pipeline/pass.hpp"

namespace berth {

void Pass::load_running(const RunningIndex& running) {
  running_ = &running;
  leaving_.assign(running.leaving().begin(), running.leaving().end());
  for (const JobId id : leaving_) {
    if (!view_.job(id).ending()) add_returning(id, Returning::Stops::Already);
  }
}

void Pass::add_returning(JobId id, Returning::Stops stops) {
  Job stopped = *view_.find(id);
  stopped.ran = view_.job(id).ran();
  stopped.since = view_.now();
  stopped.state = JobState::Queued;
  const JobView job(stopped, view_.now());
  Lane lane{.key = {.user = job.user(), .ask = ask_of(job)},
            .jobs = {{.rank = order_.rank(job, view_).rank, .job = id}}};
  returning_.push_back({.lane = std::move(lane), .stops = stops});
}

/// As a job that waits, but for this: it cannot start yet, so whatever it gets is promised.
void Pass::visit_returning(const Head& head) {
  const JobId id = head.at->job;
  const Ask ask = ask_of_lane(*head.lane);
  if (why_ruled_out(ask) != Why::Fits || keep_promise(head, ask)) return;
  if (auto place = place_without_leaving(id, ask)) {
    if (!stays_after_all(*head.returning, ask)) promise(head, ask, std::move(*place));
  } else if (!displace_for(head, ask)) {
    rule_out(ask, Why::Capacity);
  }
}

/// Nobody is displaced in vain by one job, but by several together: what the last one left over may
/// be enough for an earlier one too. Then that one gets it. Only where any GPU is as good as
/// another: elsewhere the room that is free would be another, and maybe enough for a job that was
/// refused before.
bool Pass::stays_after_all(Returning& returning, const Ask& ask) {
  const auto counts = [&](JobId job) { return only_number_matters(*view_.find(job)); };
  const JobId id = returning.lane.jobs.begin()->job;
  const bool may = returning.stops == Returning::Stops::Now && placer_.is_fungible() &&
                   counts(id) && std::ranges::all_of(holds_, counts, &Hold::job);
  if (!may) return false;
  const Grant& own = view_.job(id).grant();
  std::vector<Hold> holds = holds_;
  const Trial::Mark mark = trial_.mark();
  take_off_leaving();
  take_off_promised();
  bool stays = trial_.look(placement_of(own), ask, id) == Why::Fits;
  if (stays) trial_.put(own);
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
    stays = stays && placed.has_value();
    if (!stays) break;
    trial_.put(hold->ask, *placed);
    hold->placement = std::move(*placed);
  }
  trial_.rollback(mark);
  if (!stays) return false;
  take_off_promised();
  holds_ = std::move(holds);
  for (const Hold& hold : holds_) trial_.put(hold.ask, hold.placement);
  std::erase(leaving_, id);
  returning.stops = Returning::Stops::Never;
  return true;
}

void Pass::take_off_promised() {
  for (const Hold& hold : holds_) {
    trial_.take(trial_.use().grant_for(view_.cluster(), hold.ask, hold.placement));
  }
}

void Pass::emit_stops() {
  for (const Returning& one : returning_) {
    if (one.stops != Returning::Stops::Now) continue;
    const JobId id = one.lane.jobs.begin()->job;
    const auto to = std::ranges::find(holds_, id, &Hold::job);
    if (to == holds_.end()) {
      decisions_.list.push_back(Preempt{.job = id});
    } else {
      decisions_.list.push_back(Migrate{.job = id, .placement = to->placement});
    }
  }
}

/// The place promised to this job in an earlier pass, if it is free by now or still being freed.
bool Pass::keep_promise(const Head& head, const Ask& ask) {
  const JobId id = head.at->job;
  const auto hold = std::ranges::find(view_.holds(), id, &Hold::job);
  if (hold == view_.holds().end() || hold->ask.request != ask.request) return false;
  if (head.returning == nullptr && trial_.look(hold->placement, ask, id) == Why::Fits) {
    start(id, ask, hold->placement);
    return true;
  }
  const Trial::Mark mark = trial_.mark();
  take_off_leaving();
  const Why why = trial_.look(hold->placement, ask, id);
  trial_.rollback(mark);
  if (why == Why::Fits) promise(head, ask, hold->placement);
  return why == Why::Fits;
}

/// Beside those that leave: nobody else may take it. One that is stopped in this pass is only moved
/// by it.
void Pass::promise(const Head& head, const Ask& ask, Placement placement) {
  const JobId id = head.at->job;
  trial_.put(ask, placement);
  if (head.returning == nullptr) {  // of one that stops, its user's berth is counted already
    tally_.take(view_.job(id));
    placed_.push_back(id);
  }
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

/// Those whose order is not kept from pass to pass.
void Pass::rank_others() {
  if (std::exchange(ranked_, true)) return;
  worst_.begin(*running_, view_);
  for (const JobId id : running_->others()) {
    const JobView job = view_.job(id);
    const Ranked ranked = order_.rank(job, view_);
    if (ranked.valid_until) wake(*ranked.valid_until);
    worst_.add({group_rank(job.user()), ranked.rank, id, &job.grant()});
  }
}

/// Time alone may let somebody be displaced who waiting jobs could not displace now.
void Pass::wake_for_running() {
  rank_others();
  if (const auto change = running_->next_change()) wake(*change);
  if (!running_->empty()) wake(later(view_.now(), options_.quantum));
}

/// True if there are so many; then they are found.
bool Pass::has(Victims& victims, std::size_t count) {
  const Head& head = victims.head;
  while (victims.found.size() < count) {
    const Displaceable* const worst = worst_.at(victims.next);
    const auto key = std::tie(head.group, head.at->rank);
    if (worst == nullptr || std::tie(worst->group, worst->rank) <= key) return false;
    if (!worst->gone) victims.found.push_back(victims.next);
    ++victims.next;
  }
  return true;
}

void Pass::take_off(std::span<const std::size_t> victims) {
  for (const std::size_t victim : victims) trial_.take(*worst_.at(victim)->grant);
}

/// With fewer there would be too few GPUs, in all or on any node; nothing if there are with all.
/// Cheap beside trying: most that look for victims find too few, time and again. Requires: who
/// leaves is taken off, and there is a victim.
std::optional<std::size_t> Pass::least_victims(const Ask& ask, Victims& victims) {
  if (!takes_whole(ask)) return 1;
  const Cluster& cluster = view_.cluster();
  const Occupancy& use = trial_.use();
  const auto wanted = static_cast<std::uint32_t>(ask.gpus().raw());
  const bool on_node = placer_.keeps_on_node() && wanted <= cluster.largest_node() &&
                       use.admission().mode == AdmissionMode::Guarantee;
  GpuCount gpus = use.vacant();
  bool fits_node = !on_node;
  const auto gain = [&](const Grant& grant) {
    gpus += GpuCount(std::ssize(grant.shares));
    if (!on_node) return;
    for_each_node(cluster, grant, [&](NodeId node, std::size_t here) {
      gained_[node.value()] += static_cast<std::uint32_t>(here);
      fits_node = fits_node || use.node(node).vacant + gained_[node.value()] >= wanted;
    });
  };
  gained_.resize(cluster.nodes().size());
  std::size_t count = 0;
  do gain(*worst_.at(victims.found[count++])->grant);
  while ((gpus < ask.gpus() || !fits_node) && has(victims, count + 1));
  for (std::size_t i = 0; i < count; ++i) {
    for_each_node(cluster, *worst_.at(victims.found[i])->grant,
                  [&](NodeId node, std::size_t) { gained_[node.value()] = 0; });
  }
  return gpus >= ask.gpus() && fits_node ? std::optional(count) : std::nullopt;
}

/// Twice as many until there is room, then halves in between: costs what the answer is, not how
/// many there are.
std::optional<std::size_t> Pass::fewest_victims(JobId id, const Ask& ask, Victims& victims) {
  const auto least = least_victims(ask, victims);
  if (!least) return std::nullopt;
  const Trial::Mark before = trial_.mark();
  std::size_t too_few = 0;
  Trial::Mark without_too_few = before;
  const auto suffices = [&](std::size_t count) {
    trial_.rollback(without_too_few);
    take_off(std::span(victims.found).subspan(too_few, count - too_few));
    if (placer_.place(ask, id, trial_)) return true;
    too_few = count;
    without_too_few = trial_.mark();
    return false;
  };
  std::size_t enough = *least;
  bool found = suffices(enough);
  while (!found && has(victims, enough + 1)) {
    enough = has(victims, 2 * enough) ? 2 * enough : victims.found.size();
    found = suffices(enough);
  }
  while (found && too_few + 1 < enough) {
    const std::size_t middle = (too_few + enough) / 2;
    if (suffices(middle)) enough = middle;
  }
  trial_.rollback(before);
  return found ? std::optional(enough) : std::nullopt;
}

bool Pass::displace_for(const Head& head, const Ask& ask) {
  const JobId id = head.at->job;
  rank_others();
  Victims victims{.head = head};
  if (!has(victims, 1)) return false;
  const Trial::Mark mark = trial_.mark();
  take_off_leaving();
  const auto count = fewest_victims(id, ask, victims);
  if (!count) {
    trial_.rollback(mark);
    return false;
  }
  const auto chosen = std::span(victims.found).first(*count);
  take_off(chosen);
  Placement placement = *placer_.place(ask, id, trial_);
  const std::vector<std::size_t> displaced = needed(chosen, head, ask, placement);
  trial_.rollback(mark);
  for (const std::size_t victim : displaced) displace(victim);
  promise(head, ask, std::move(placement));
  return true;
}

/// Those of the chosen without whom there is no place, best first; whoever is better may stay
/// first. The placement becomes one that does without the others. Requires: all of them are taken
/// off, the placement is possible so, and there is none without the last.
std::vector<std::size_t> Pass::needed(std::span<const std::size_t> chosen, const Head& head,
                                      const Ask& ask, Placement& placement) {
  const JobId id = head.at->job;
  std::vector<std::size_t> needed{chosen.back()};
  for (const std::size_t victim : std::views::reverse(chosen.first(chosen.size() - 1))) {
    const Trial::Mark without = trial_.mark();
    trial_.put(*worst_.at(victim)->grant);
    if (trial_.look(placement, ask, id) == Why::Fits) continue;
    const bool too_few = needs_vacant(ask) && trial_.use().vacant() < ask.gpus();
    Placed other = too_few ? std::unexpected(Refusal{}) : placer_.place(ask, id, trial_);
    if (other) {
      placement = std::move(*other);
    } else {
      trial_.rollback(without);
      needed.push_back(victim);
    }
  }
  return needed;
}

/// True if it takes so many vacant GPUs and nothing else will do.
bool Pass::needs_vacant(const Ask& ask) const {
  return takes_whole(ask) && trial_.use().admission().mode == AdmissionMode::Guarantee;
}

void Pass::displace(std::size_t victim) {
  Displaceable& displaced = *worst_.at(victim);
  displaced.gone = true;
  leaving_.push_back(displaced.job);
  add_returning(displaced.job, Returning::Stops::Now);
}

}  // namespace berth
