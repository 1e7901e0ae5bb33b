#include "policy/pipeline/index.hpp"

#include <algorithm>
#include <utility>

namespace berth {

void PendingIndex::clear(Shape shape) {
  *this = PendingIndex();
  shape_ = shape;
}

Lane* PendingIndex::update(JobId id, const ClusterView& view, const Order& order) {
  erase(id);
  const Job* const job = view.find(id);
  if (job == nullptr || !is_waiting(job->state)) return nullptr;
  return insert(view.job(id), view, order);
}

Lane* PendingIndex::insert(const JobView& job, const ClusterView& view, const Order& order) {
  LaneKey key{.user = shape_.by_user ? job.user() : UserId(0), .ask = ask_of(job)};
  key.ask.planned = shape_.by_plan ? job.enforced() : kForever;
  if (order.depends_on() == DependsOn::Lane) key.apart = order.lane(job, view);
  if (shape_.by_known) key.is_run_known = is_run_known(job);
  const auto [found, fresh] = lanes_.try_emplace(key);
  Lane& lane = found->second;
  if (fresh) {
    lane.key = key;
    open_.push_back(&lane);
  }
  if (lane.jobs.empty()) {
    lane.place = full_.size();
    full_.push_back(&lane);
  }
  const Ranked ranked = order.rank(job, view);
  const Position position{.rank = ranked.rank, .job = job.id()};
  lane.jobs.insert(position);
  if (position == *lane.jobs.begin()) reopen(lane);
  const Duration run = shape_.plans.counted_on(job);
  if (shape_.by_run) lane.by_run.emplace(run, job.id());
  entries_.insert(job.id(), {&lane, position, run, ranked.valid_until});
  if (ranked.valid_until) expiries_.emplace(*ranked.valid_until, job.id());
  return &lane;
}

void PendingIndex::erase(JobId id) {
  const Entry* const entry = entries_.find(id);
  if (entry == nullptr) return;
  if (entry->valid_until) expiries_.erase({*entry->valid_until, id});
  Lane* const lane = entry->lane;
  if (entry->position == *lane->jobs.begin()) reopen(*lane);
  lane->jobs.erase(entry->position);
  lane->by_run.erase({entry->run, id});
  entries_.erase(id);
  if (lane->first && lane->first->job == id) lane->first.reset();
  if (lane->jobs.empty()) leave_full(*lane);
}

void PendingIndex::leave_full(Lane& lane) {
  full_.back()->place = lane.place;
  full_[lane.place] = full_.back();
  full_.pop_back();
  if (lanes_.size() > 64 + 3 * full_.size()) drop_empty_lanes();
}

/// An empty lane is kept, since the next job often asks for the same; but not for ever.
void PendingIndex::drop_empty_lanes() {
  std::erase_if(open_, [](const Lane* lane) { return lane->jobs.empty(); });
  std::erase_if(lanes_, [](const auto& entry) { return entry.second.jobs.empty(); });
}

bool PendingIndex::expire(const ClusterView& view, const Order& order) {
  const bool any = !expiries_.empty() && expiries_.begin()->first <= view.now();
  while (!expiries_.empty() && expiries_.begin()->first <= view.now()) {
    update(expiries_.begin()->second, view, order);
  }
  return any;
}

void PendingIndex::rerank_all(const ClusterView& view, const Order& order) {
  std::vector<JobId> ids;
  ids.reserve(entries_.size());
  entries_.for_each([&](JobId id, const Entry&) { ids.push_back(id); });
  for (const JobId id : ids) update(id, view, order);
}

/// A lane is closed because its first job was refused. Another first job may not be: it may have
/// waited long enough.
void PendingIndex::reopen(Lane& lane) {
  if (std::exchange(lane.closed, false)) open_.push_back(&lane);
}

void PendingIndex::reopen() {
  if (open_.size() == lanes_.size()) return;
  open_.clear();
  for (auto& [key, lane] : lanes_) {
    lane.closed = false;
    open_.push_back(&lane);
  }
}

std::optional<Instant> PendingIndex::next_expiry() const {
  return expiries_.empty() ? std::nullopt : std::optional(expiries_.begin()->first);
}

}  // namespace berth
