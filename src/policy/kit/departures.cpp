#include "policy/kit/departures.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace berth {

namespace {

bool leaves_before(const Leaving& a, const Leaving& b) {
  return std::tie(a.at, a.grant_number) < std::tie(b.at, b.grant_number);
}

/// Ascending.
std::vector<Leaving> leaving_of(std::span<const Fresh> started, const ClusterView& view,
                                const Plans& plans) {
  std::vector<Leaving> leaving;
  std::uint64_t number = view.grants();
  for (const Fresh& fresh : started) {
    leaving.push_back(
        {.at = plans.foreseen_end(fresh, view), .grant_number = ++number, .grant = &fresh.grant});
  }
  std::ranges::sort(leaving, leaves_before);
  return leaving;
}

}  // namespace

Departures::Entries::value_type Departures::entry_of(const JobView& job, Instant now,
                                                     const Plans& plans) {
  const bool is_sure = job.spec().time_limit != kForever || job.state() == JobState::Stopping;
  return {
      {.end = plans.foreseen_end(job, now), .grant_number = job.grant_number(), .job = job.id()},
      {.holds_until = is_sure ? kNever : later(now, plans.holds_for(job)),
       .charge = charges_of(job.grant())}};
}

void Departures::insert(const Entries::value_type& entry) {
  const auto& [key, plan] = *entries_.insert(entry).first;
  keys_.insert(key.job, key);
  if (plan.holds_until != kNever) doubts_.set(key.job, plan.holds_until);
}

bool Departures::update(JobId id, const ClusterView& view, const Plans& plans) {
  const Key* const known = keys_.find(id);
  const Job* const job = view.find(id);
  const bool runs = job != nullptr && holds_berth(job->state);
  if (known == nullptr) {
    if (runs) insert(entry_of(view.job(id), view.now(), plans));
    return true;
  }
  const auto was = entries_.extract(*known);
  keys_.erase(id);
  doubts_.erase(id);
  const Instant foreseen = std::max(was.key().end, view.now());
  if (!runs) return foreseen == view.now();
  const Entries::value_type is = entry_of(view.job(id), view.now(), plans);
  insert(is);
  return is.first.end == foreseen && is.second.charge == was.mapped().charge;
}

bool Departures::follow(const ClusterView& view, std::span<const Event> events, const Plans& plans,
                        bool is_fresh) {
  bool holds = std::exchange(condition_, view.condition_version()) == condition_;
  const auto look_at = [&](JobId id) { holds = update(id, view, plans) && holds; };
  std::ranges::for_each(begun_, look_at);
  begun_.clear();
  if (is_fresh) {
    for (const auto& [key, plan] : Entries(entries_)) look_at(key.job);
    std::ranges::for_each(view.running(), look_at);
  }
  std::ranges::for_each(events, look_at, &Event::job);
  std::ranges::for_each(doubts_.take_due(view.now()), look_at);
  return holds;
}

void Departures::add(const ClusterView& view, std::span<const Fresh> started, const Plans& plans) {
  std::uint64_t number = view.grants();
  for (const Fresh& fresh : started) {
    begun_.push_back(fresh.job);
    insert({{.end = plans.foreseen_end(fresh, view), .grant_number = ++number, .job = fresh.job},
            {.holds_until = kNever, .charge = charges_of(fresh.grant)}});
  }
}

Departures::Entries::const_iterator Departures::end_of_gone(Instant then) const {
  return std::ranges::find_if(entries_, [&](const auto& entry) { return entry.first.end > then; });
}

Leavers Departures::leavers(const ClusterView& view, std::span<const Fresh> started,
                            const Plans& plans) const {
  const auto leaving = [&view](const Key& key) {
    return Leaving{.at = std::max(key.end, view.now()),
                   .grant_number = key.grant_number,
                   .grant = &view.find(key.job)->grant};
  };
  std::vector<Leaving> first = leaving_of(started, view, plans);
  const auto due = end_of_gone(view.now());  // those until there stand by their end before now
  for (auto at = entries_.begin(); at != due; ++at) first.push_back(leaving(at->first));
  std::ranges::sort(first, leaves_before);
  const auto next = [this, leaving, first = std::move(first), rest = due,
                     place = std::size_t{0}]() mutable {
    if (rest == entries_.end()) return first[place++];
    const Leaving found = leaving(rest->first);
    if (place < first.size() && leaves_before(first[place], found)) return first[place++];
    ++rest;
    return found;
  };
  return Leavers(entries_.size() + started.size(), next);
}

Scratch Departures::occupancy_at(Instant then, const ClusterView& view, const Occupancy& now,
                                 std::span<const Fresh> started, const Plans& plans) const {
  Scratch scratch{now, {}};
  for (auto at = entries_.begin(); at != entries_.end() && at->first.end <= then; ++at) {
    scratch.use.take(view.cluster(), view.find(at->first.job)->grant);
  }
  for (const Fresh& fresh : started) {
    if (plans.foreseen_end(fresh, view) <= then) scratch.use.take(view.cluster(), fresh.grant);
  }
  return scratch;
}

Instant Departures::first_doubt(Instant until, const ClusterView& view,
                                std::span<const Fresh> started, const Plans& plans) const {
  Instant first = kNever;
  const auto doubt = [&](const Entries::value_type& entry) {
    if (entry.first.end <= until) first = std::min(first, entry.second.holds_until);
  };
  std::for_each(entries_.begin(), end_of_gone(until), doubt);
  for (const Fresh& fresh : started) doubt(entry_of(view.job(fresh.job), view.now(), plans));
  return first;
}

bool Departures::is_guessed(Instant then, const ClusterView& view, std::span<const Fresh> started,
                            const Plans& plans) const {
  const auto is_guess_of = [&](JobId id) { return is_guess(view.job(id)); };
  const Instant from = then == view.now() ? Instant::min() : then;  // some should be gone by now
  const auto first = entries_.lower_bound({.end = from, .grant_number = 0, .job = JobId(0)});
  for (auto at = first; at != entries_.end() && at->first.end <= then; ++at) {
    if (is_guess_of(at->first.job)) return true;
  }
  return std::ranges::any_of(started, [&](const Fresh& fresh) {
    return plans.foreseen_end(fresh, view) == then && is_guess_of(fresh.job);
  });
}

}  // namespace berth
