#include "policy/backfill/profile.hpp"

#include <algorithm>
#include <utility>

#include "policy/kit/outlook.hpp"

namespace berth {

namespace {

/// Shortest booking: a zero-length plan would make the pass spin.
constexpr Duration kShortest = seconds(1);

Duration booked_for(const JobView& job) { return std::max(Plans{}.counted_on(job), kShortest); }

/// GPUs that no other job can share with this grant.
GpuCount alone_on(const Grant& grant) {
  return GpuCount(grant.sharing == Sharing::Alone ? std::ssize(grant.shares) : 0);
}

}  // namespace

void Profile::look(const ClusterView& view) {
  view_ = &view;
  all_ = by_ == By::Number ? view.use().vacant() : view.cluster().gpu_count();
  auto known = running_.begin();
  for (const JobId id : view.running()) {
    while (known != running_.end() && known->first < id) known = erase(running_, known);
    Stay stay = stay_of(view.job(id));
    const bool is_known = known != running_.end() && known->first == id;
    const bool is_same = is_known && known->second.to == stay.to &&
                         known->second.is_guess == stay.is_guess && by_ == By::Place;
    if (is_known) known = is_same ? std::next(known) : erase(running_, known);
    if (is_same) continue;
    if (by_ == By::Number) all_ += stay.gpus;
    insert(running_, std::move(stay));
  }
  while (known != running_.end()) known = erase(running_, known);
}

Profile::Stay Profile::stay_of(const JobView& running) const {
  const Instant now = view_->now();
  return {.job = running.id(),
          .from = Instant::min(),
          .to = std::max({Plans{}.foreseen_end(running, now), later(now, kMoment),
                          later(running.granted_at(), kShortest)}),
          .is_guess = is_guess(running),
          .gpus = by_ == By::Number ? left_by(running.grant()) : alone_on(running.grant())};
}

/// GPUs of a grant that others can have after it.
GpuCount Profile::left_by(const Grant& grant) const {
  return GpuCount(std::ranges::count_if(grant.shares, [&](const Share& share) {
    GpuUse use = view_->use().gpu(share.gpu);
    use.tenants = 0;
    return is_vacant(view_->use().admission(), view_->cluster().gpu(share.gpu), use);
  }));
}

void Profile::add(const Booking& booking) {
  const JobView job = view_->job(booking.job);
  Stay stay{.job = booking.job,
            .from = booking.from,
            .to = later(booking.from, booked_for(job)),
            .is_guess = is_guess(job),
            .gpus = job.gpus()};
  if (by_ == By::Place) {
    stay.grant = view_->use().grant_for(view_->cluster(), ask_of(job), booking.place);
    stay.gpus = alone_on(stay.grant);
  }
  insert(booked_, std::move(stay));
}

void Profile::remove(JobId job) {
  const auto found = booked_.find(job);
  if (found != booked_.end()) erase(booked_, found);
}

void Profile::insert(Stays& stays, Stay made) {
  const Stay& stay = stays.emplace(made.job, std::move(made)).first->second;
  if (runs(stay)) {
    leaving_.insert(stay.to, &stay);
  } else {
    coming_.insert(stay.from, {stay.to, &stay});
  }
  departures_.insert(stay.to, stay.job);
  if (stay.is_guess) guesses_.insert(stay.to);
  taken_.add(stay.from, stay.to, stay.gpus);
}

Profile::Stays::iterator Profile::erase(Stays& stays, Stays::iterator at) {
  const Stay& stay = at->second;
  if (runs(stay)) {
    leaving_.erase(stay.to, &stay);
  } else {
    coming_.erase(stay.from, {stay.to, &stay});
  }
  departures_.erase(stay.to, stay.job);
  if (stay.is_guess) guesses_.erase(guesses_.find(stay.to));
  taken_.add(stay.from, stay.to, GpuCount(0) - stay.gpus);
  return stays.erase(at);
}

std::optional<Slot> Profile::earliest(const JobView& job, const Placer& placer, Instant before,
                                      const Slot& old) {
  coming_.settle();
  leaving_.settle();
  departures_.settle();
  return by_ == By::Number ? by_number(job, placer, before) : by_place(job, placer, before, old);
}

std::optional<Slot> Profile::by_number(const JobView& job, const Placer& placer,
                                       Instant before) const {
  const Instant from = taken_.first_below(all_ - job.gpus(), booked_for(job), view_->now());
  if (from >= before) return std::nullopt;
  auto place = free_of_running(job, placer, from);
  return place ? std::optional(Slot{from, std::move(*place)}) : std::nullopt;
}

std::optional<Placement> Profile::free_of_running(const JobView& job, const Placer& placer,
                                                  Instant at) const {
  Scratch scratch{view_->use(), {}};
  for (const auto& [id, stay] : running_) {
    if (stay.to <= at) scratch.use.take(view_->cluster(), view_->job(id).grant());
  }
  const Trial trial(view_->cluster(), scratch);
  Placed placed = placer.place(ask_of(job), job.id(), trial);
  return placed ? std::optional(std::move(*placed)) : std::nullopt;
}

/// Stays that begin before this one would be over are put, those that are over when it begins are
/// taken off: what is left is free all the time. A job that needs GPUs alone need not be looked at
/// while those that others have alone leave too few.
std::optional<Slot> Profile::by_place(const JobView& job, const Placer& placer, Instant before,
                                      const Slot& old) {
  const Cluster& cluster = view_->cluster();
  const Ask ask = ask_of(job);
  const Duration planned = booked_for(job);
  const bool needs_vacant =
      takes_whole(ask) && view_->use().admission().mode == AdmissionMode::Guarantee;
  const auto worth_a_look = [&](Instant from) {
    return needs_vacant ? taken_.first_below(all_ - ask.gpus(), planned, from) : from;
  };
  Scratch scratch{view_->use(), {}};
  std::vector<Coming> put;  // a heap: the first to leave on top
  const auto leaves_later = [](const Coming& a, const Coming& b) { return a.to > b.to; };
  const auto all_coming = coming_.entries();
  const auto all_leaving = leaving_.entries();
  auto coming = all_coming.begin();
  auto leaving = all_leaving.begin();
  for (Instant at = worth_a_look(view_->now()); at < before;) {
    const Instant end = later(at, planned);
    for (; coming != all_coming.end() && coming->first < end; ++coming) {
      if (coming->second.to <= at) continue;
      scratch.use.put(cluster, coming->second.stay->grant);
      put.push_back(coming->second);
      std::ranges::push_heap(put, leaves_later);
    }
    for (; leaving != all_leaving.end() && leaving->first <= at; ++leaving) {
      scratch.use.take(cluster, view_->job(leaving->second->job).grant());
    }
    for (; !put.empty() && put.front().to <= at; put.pop_back()) {
      scratch.use.take(cluster, put.front().stay->grant);
      std::ranges::pop_heap(put, leaves_later);
    }
    if (!needs_vacant || scratch.use.vacant() >= ask.gpus()) {
      const Trial trial(cluster, scratch);
      if (at == old.from && trial.look(old.place, ask, job.id()) == Why::Fits) return old;
      if (Placed placed = placer.place(ask, job.id(), trial)) return Slot{at, std::move(*placed)};
    }
    const auto departures = departures_.entries();
    const auto next =
        std::ranges::upper_bound(departures, at, {}, [](const auto& entry) { return entry.first; });
    if (next == departures.end()) break;
    at = worth_a_look(next->first);
  }
  return std::nullopt;
}

}  // namespace berth
