#include "policy/kit/profile.hpp"

#include <algorithm>
#include <utility>

#include "policy/kit/outlook.hpp"

namespace berth {

namespace {

/// A plan of nothing is taken for this, lest it be looked at all the time.
constexpr Duration kShortest = seconds(1);

Duration booked_for(const JobView& job) { return std::max(counted_on(job), kShortest); }

}  // namespace

void Profile::look(const ClusterView& view) {
  view_ = &view;
  all_ = view.use().vacant();
  auto known = running_.begin();
  for (const JobId id : view.running()) {
    while (known != running_.end() && known->first < id) known = erase(running_, known);
    Stay stay = stay_of(view.job(id));
    const bool is_known = known != running_.end() && known->first == id;
    const bool is_same = is_known && known->second.to == stay.to &&
                         known->second.is_guess == stay.is_guess && by_ == By::Place;
    if (is_known) known = is_same ? std::next(known) : erase(running_, known);
    if (is_same) continue;
    all_ += stay.gpus;
    insert(running_, std::move(stay));
  }
  while (known != running_.end()) known = erase(running_, known);
}

Profile::Stay Profile::stay_of(const JobView& running) const {
  const Instant now = view_->now();
  return {.job = running.id(),
          .from = Instant::min(),
          .to = std::max({foreseen_end(running, now), later(now, kMoment),
                          later(running.granted_at(), kShortest)}),
          .is_guess = !has_plan(running) || has_outlived(running),
          .gpus = by_ == By::Number ? left_by(running.grant()) : GpuCount(0)};
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
            .is_guess = !has_plan(job),
            .gpus = job.gpus()};
  if (by_ == By::Place) {
    stay.grant = view_->use().grant_for(view_->cluster(), ask_of(job), booking.place);
  }
  insert(booked_, std::move(stay));
}

void Profile::remove(JobId job) {
  const auto found = booked_.find(job);
  if (found != booked_.end()) erase(booked_, found);
}

void Profile::insert(Stays& stays, Stay made) {
  Stay& stay = stays.emplace(made.job, std::move(made)).first->second;
  if (!runs(stay)) stay.by_from = by_from_.emplace(stay.from, &stay);
  stay.by_to = by_to_.emplace(stay.to, &stay);
  if (stay.is_guess) guesses_.insert(stay.to);
  count(stay, stay.gpus);
}

Profile::Stays::iterator Profile::erase(Stays& stays, Stays::iterator at) {
  const Stay& stay = at->second;
  if (!runs(stay)) by_from_.erase(stay.by_from);
  by_to_.erase(stay.by_to);
  if (stay.is_guess) guesses_.erase(guesses_.find(stay.to));
  count(stay, GpuCount(0) - stay.gpus);
  return stays.erase(at);
}

void Profile::count(const Stay& stay, GpuCount gpus) {
  if (by_ == By::Place) return;
  taken_[stay.from] += gpus;
  taken_[stay.to] -= gpus;
}

/// The anchor point of the paper: wherever there are too few GPUs, the stay can begin after that at
/// best.
std::optional<Slot> Profile::by_number(const JobView& job, const Placer& placer,
                                       Instant before) const {
  GpuCount taken(0);
  auto change = taken_.begin();
  for (; change != taken_.end() && change->first <= view_->now(); ++change) {
    taken += change->second;
  }
  Instant from = view_->now();
  for (;; ++change) {
    const Instant next = change == taken_.end() ? kNever : change->first;
    if (taken + job.gpus() > all_) from = next;
    if (from >= before) return std::nullopt;
    if (next >= later(from, booked_for(job))) break;
    taken += change->second;
  }
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

/// Those who come before the stay would be over are put, those gone when it begins are taken off:
/// what is left is free all the time.
std::optional<Slot> Profile::by_place(const JobView& job, const Placer& placer, Instant before,
                                      const Slot& old) {
  const Cluster& cluster = view_->cluster();
  const Ask ask = ask_of(job);
  const bool needs_vacant =
      takes_whole(ask) && view_->use().admission().mode == AdmissionMode::Guarantee;
  Scratch scratch{view_->use(), {}};
  ++searches_;
  auto coming = by_from_.begin();
  auto going = by_to_.begin();
  for (Instant at = view_->now(); at < before; at = going->first) {
    const Instant end = later(at, booked_for(job));
    for (; coming != by_from_.end() && coming->first < end; ++coming) {
      Stay& stay = *coming->second;
      if (stay.to <= at) continue;
      scratch.use.put(cluster, stay.grant);
      stay.put_in = searches_;
    }
    for (; going != by_to_.end() && going->first <= at; ++going) {
      const Stay& stay = *going->second;
      if (runs(stay)) scratch.use.take(cluster, view_->job(stay.job).grant());
      if (stay.put_in == searches_) scratch.use.take(cluster, stay.grant);
    }
    if (!needs_vacant || scratch.use.vacant() >= ask.gpus()) {
      const Trial trial(cluster, scratch);
      if (at == old.from && trial.look(old.place, ask, job.id()) == Why::Fits) return old;
      if (Placed placed = placer.place(ask, job.id(), trial)) return Slot{at, std::move(*placed)};
    }
    if (going == by_to_.end()) break;
  }
  return std::nullopt;
}

}  // namespace berth
