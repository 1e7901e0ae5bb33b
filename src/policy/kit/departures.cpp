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

Departures::Entry Departures::entry_of(const JobView& job, Instant now, const Plans& plans) {
  const bool is_sure = job.spec().time_limit != kForever || job.state() == JobState::Stopping;
  return {.key = {.end = plans.foreseen_end(job, now),
                  .grant_number = job.grant_number(),
                  .job = job.id()},
          .holds_until = is_sure ? kNever : later(now, plans.holds_for(job)),
          .charge = charges_of(job.grant())};
}

std::vector<Departures::Entry>::iterator Departures::place_of(const Key& key) {
  return std::ranges::lower_bound(entries_, key, {}, &Entry::key);
}

void Departures::insert(const Entry& entry) {
  entries_.insert(place_of(entry.key), entry);
  keys_.insert(entry.key.job, entry.key);
  if (entry.holds_until != kNever) doubts_.set(entry.key.job, entry.holds_until);
}

Departures::Entry Departures::erase(const Key& key) {
  const auto at = place_of(key);
  const Entry was = *at;
  entries_.erase(at);
  keys_.erase(was.key.job);
  doubts_.erase(was.key.job);
  return was;
}

bool Departures::update(JobId id, const ClusterView& view, const Plans& plans) {
  const Key* const known = keys_.find(id);
  const Job* const job = view.find(id);
  const bool runs = job != nullptr && holds_berth(job->state);
  if (known == nullptr) {
    if (runs) insert(entry_of(view.job(id), view.now(), plans));
    return true;
  }
  const Entry was = erase(Key(*known));
  const Instant foreseen = std::max(was.key.end, view.now());
  if (!runs) return foreseen == view.now();
  const Entry is = entry_of(view.job(id), view.now(), plans);
  insert(is);
  return is.key.end == foreseen && is.charge == was.charge;
}

bool Departures::follow(const ClusterView& view, std::span<const Event> events, const Plans& plans,
                        bool is_fresh) {
  bool holds = std::exchange(condition_, view.condition_version()) == condition_;
  const auto look_at = [&](JobId id) { holds = update(id, view, plans) && holds; };
  std::ranges::for_each(begun_, look_at);
  begun_.clear();
  if (is_fresh) {
    for (const Entry& entry : std::vector(entries_)) look_at(entry.key.job);
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
    insert({.key = {.end = plans.foreseen_end(fresh, view),
                    .grant_number = ++number,
                    .job = fresh.job},
            .holds_until = kNever,
            .charge = charges_of(fresh.grant)});
  }
}

std::span<const Departures::Entry> Departures::gone_by(Instant then) const {
  const auto end = std::ranges::upper_bound(entries_, then, {},
                                            [](const Entry& entry) { return entry.key.end; });
  return {entries_.begin(), end};
}

Leavers Departures::leavers(const ClusterView& view, std::span<const Fresh> started,
                            const Plans& plans) const {
  const auto leaving = [&view](const Entry& entry) {
    return Leaving{.at = std::max(entry.key.end, view.now()),
                   .grant_number = entry.key.grant_number,
                   .grant = &view.find(entry.key.job)->grant};
  };
  std::vector<Leaving> first = leaving_of(started, view, plans);
  const std::span<const Entry> due = gone_by(view.now());  // they stand by their end before now
  std::ranges::transform(due, std::back_inserter(first), leaving);
  std::ranges::sort(first, leaves_before);
  const auto next = [leaving, first = std::move(first),
                     rest = std::span(entries_).subspan(due.size()),
                     place = std::size_t{0}]() mutable {
    const bool is_first =
        rest.empty() ||
        (place < first.size() && std::tie(first[place].at, first[place].grant_number) <
                                     std::tie(rest.front().key.end, rest.front().key.grant_number));
    if (is_first) return first[place++];
    const Leaving found = leaving(rest.front());
    rest = rest.subspan(1);
    return found;
  };
  return Leavers(entries_.size() + started.size(), next);
}

Scratch Departures::occupancy_at(Instant then, const ClusterView& view, const Occupancy& now,
                                 std::span<const Fresh> started, const Plans& plans) const {
  Scratch scratch{now, {}};
  for (const Entry& entry : gone_by(then)) {
    scratch.use.take(view.cluster(), view.find(entry.key.job)->grant);
  }
  for (const Fresh& fresh : started) {
    if (plans.foreseen_end(fresh, view) <= then) scratch.use.take(view.cluster(), fresh.grant);
  }
  return scratch;
}

Instant Departures::first_doubt(Instant until, const ClusterView& view,
                                std::span<const Fresh> started, const Plans& plans) const {
  Instant first = kNever;
  for (const Entry& entry : gone_by(until)) first = std::min(first, entry.holds_until);
  for (const Fresh& fresh : started) {
    const Entry entry = entry_of(view.job(fresh.job), view.now(), plans);
    if (entry.key.end <= until) first = std::min(first, entry.holds_until);
  }
  return first;
}

bool Departures::is_guessed(Instant then, const ClusterView& view, std::span<const Fresh> started,
                            const Plans& plans) const {
  const auto is_guess_of = [&](JobId id) { return is_guess(view.job(id)); };
  const auto all = gone_by(then);
  const auto same = std::ranges::find_if(
      all, [&](const Entry& entry) { return std::max(entry.key.end, view.now()) == then; });
  return std::any_of(same, all.end(), [&](const Entry& e) { return is_guess_of(e.key.job); }) ||
         std::ranges::any_of(started, [&](const Fresh& fresh) {
           return plans.foreseen_end(fresh, view) == then && is_guess_of(fresh.job);
         });
}

}  // namespace berth
