#include "policy/pipeline/running_index.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "policy/pipeline/walk.hpp"

namespace berth {

void RunningIndex::follow(const PassContext& context) {
  if (context.is_fresh || quantum_ != context.options.quantum) {
    clear(context.options.quantum);
    for (const JobId id : context.view.running()) update(id, context.view, context.order);
  } else {
    for (const Event& event : context.events) update(event.job, context.view, context.order);
  }
  expire(context.view, context.order);
}

void RunningIndex::clear(Duration quantum) {
  *this = RunningIndex();
  quantum_ = quantum;
}

void RunningIndex::update(JobId id, const ClusterView& view, const Order& order) {
  erase(id);
  const Job* const job = view.find(id);
  if (job == nullptr || !holds_berth(job->state)) return;
  if (job->state == JobState::Stopping) {
    entries_.insert(id, {});
    leaving_.insert(id);
  } else {
    stand(view.job(id), view, order);
  }
}

void RunningIndex::stand(const JobView& job, const ClusterView& view, const Order& order) {
  Entry entry;
  const Instant alone_from = view.left_alone_from(job);
  const Instant safe_until = later(job.granted_at(), quantum_);
  Instant again = alone_from;
  if (alone_from <= view.now()) {
    again = kNever;
    const Instant until = view.left_alone_until(job);
    if (until != kNever) entry.change = until;
  } else if (safe_until > view.now()) {
    entry.change = safe_until;
  } else if (const Ranked ranked = order.rank(job, view); ranked.drift) {
    const std::int64_t drift = ranked.drift->per_microsecond;
    const Wide moved = Wide{drift} * micros(view.now());
    const Standing standing{ranked.rank.major - moved, ranked.rank.minor, job.id()};
    drifting_[drift].insert(standing);
    entry.drifting = {drift, standing};
    entry.change = ranked.valid_until;
    again = std::min(again, ranked.drift->until);
  } else {
    others_.insert(job.id());
  }
  if (again < entry.change.value_or(kNever)) entry.ask_again = again;
  if (entry.change) changes_.emplace(*entry.change, job.id());
  if (entry.ask_again) ask_again_.emplace(*entry.ask_again, job.id());
  entries_.insert(job.id(), entry);
}

void RunningIndex::erase(JobId id) {
  const Entry* const entry = entries_.find(id);
  if (entry == nullptr) return;
  if (entry->drifting) drifting_[entry->drifting->first].erase(entry->drifting->second);
  if (entry->change) changes_.erase({*entry->change, id});
  if (entry->ask_again) ask_again_.erase({*entry->ask_again, id});
  others_.erase(id);
  leaving_.erase(id);
  entries_.erase(id);
}

void RunningIndex::expire(const ClusterView& view, const Order& order) {
  for (Times* times : {&changes_, &ask_again_}) {
    while (!times->empty() && times->begin()->first <= view.now()) {
      update(times->begin()->second, view, order);
    }
  }
}

std::optional<Instant> RunningIndex::next_change() const {
  return changes_.empty() ? std::nullopt : std::optional(changes_.begin()->first);
}

bool RunningIndex::is_still(Instant now) const {
  const auto worsens = [](const auto& entry) { return entry.first > 0 && !entry.second.empty(); };
  return others_.empty() && leaving_.empty() && next_change().value_or(kNever) > now &&
         std::ranges::none_of(drifting_ | std::views::reverse, worsens);
}

void WorstFirst::push(const std::pair<const std::int64_t, RunningIndex::Alike>& from,
                      const RunningIndex::Alike::const_reverse_iterator& at) {
  if (at == from.second.rend()) return;
  constexpr Wide kLargest = std::numeric_limits<std::int64_t>::max();
  const Wide major = at->major_at_origin + Wide{from.first} * micros(view_.now());
  const Rank rank{static_cast<std::int64_t>(std::min(major, kLargest)), at->minor};
  next_.push_back({.job = {rank, at->job}, .from = &from, .after = std::next(at)});
  std::ranges::push_heap(next_, is_better);
}

void WorstFirst::add(const Displaceable& one) {
  next_.push_back({.job = one, .from = nullptr, .after = {}});
  std::ranges::push_heap(next_, is_better);
}

bool WorstFirst::is_better(const Next& a, const Next& b) {
  const auto key = [](const Next& next) { return std::tie(next.job.rank, next.job.job); };
  return key(a) < key(b);
}

Displaceable* WorstFirst::at(std::size_t place) {
  if (!std::exchange(has_begun_, true)) {
    for (const auto& alike : index_.drifting()) push(alike, alike.second.rbegin());
  }
  while (found_.size() <= place && !next_.empty()) {
    std::ranges::pop_heap(next_, is_better);
    const Next worst = next_.back();
    next_.pop_back();
    found_.push_back(worst.job);
    if (worst.from != nullptr) push(*worst.from, worst.after);
  }
  return place < found_.size() ? &found_[place] : nullptr;
}

}  // namespace berth
