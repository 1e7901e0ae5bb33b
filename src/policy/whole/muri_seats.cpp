#include "policy/whole/muri_seats.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/base/wide.hpp"
#include "policy/whole/muri_company.hpp"

namespace berth {

namespace {

bool is_live_in(const ClusterView& view, JobId id) {
  const Job* const job = view.find(id);
  return job != nullptr && is_live(*job);
}

}  // namespace

bool MuriSeats::drop_gone(const ClusterView& view) {
  std::erase_if(worked_, [&](const auto& job) { return !is_live_in(view, job.first); });
  Trial trial = view.trial();
  clear(trial, view);
  bool is_one_lost = false;
  std::erase_if(seats_, [&](const auto& seat) {
    const auto& [id, its] = seat;
    if (!is_live_in(view, id)) return true;
    const JobView job = view.job(id);
    const bool can_be =
        exists(its.place, view.cluster()) &&
        (holds_berth(job.state()) || trial.look(its.place, ask_of(job), id) == Why::Fits);
    is_one_lost |= !can_be;
    return !can_be;
  });
  return is_one_lost;
}

void MuriSeats::count(const ClusterView& view) {
  for (auto& [id, seat] : seats_) {
    const Duration now = view.job(id).progressed();
    const Duration ran = now - std::exchange(seat.before, now);
    Duration& worked = worked_[id];
    if (ran < Duration::zero()) worked = Duration::zero();  // it began from nothing
    const Wide done = Wide{micros(std::max(ran, Duration::zero()))} * seat.speed.ppm();
    worked = Duration(static_cast<std::int64_t>(
        std::min(Wide{micros(worked)} + done / Rate::kWhole, Wide{micros(kForever)})));
  }
}

void MuriSeats::add(const ClusterView& view, std::span<const Seat> seats,
                    const StageFactors& factors) {
  for (const Seat& seat : seats) {
    for (const JobId id : seat.jobs) {
      seats_[id] = {.place = seat.place,
                    .speed = speed_by_stages(view, id, seat.jobs, factors),
                    .before = view.job(id).progressed()};
    }
  }
}

void MuriSeats::occupy(const ClusterView& view, Seating& seating, Trial& trial) const {
  for (const auto& [id, seat] : seats_) {
    const JobView job = view.job(id);
    const bool is_free = seating.occupy(id, ask_of(job), seat.place);
    if (!is_free && holds_berth(job.state())) trial.put(job.grant());
  }
}

const Placement* MuriSeats::of(JobId job) const {
  const auto found = seats_.find(job);
  return found == seats_.end() ? nullptr : &found->second.place;
}

Duration MuriSeats::worked(JobId job) const {
  const auto found = worked_.find(job);
  return found == worked_.end() ? Duration::zero() : found->second;
}

bool MuriSeats::is_sane() const {
  const auto is_seat = [](const auto& entry) {
    const OfJob& seat = entry.second;
    const auto& gpus = seat.place.gpus;
    return std::ranges::adjacent_find(gpus, std::greater_equal()) == gpus.end() &&
           seat.speed >= Rate(0) && seat.speed <= kFullSpeed && seat.before >= Duration::zero();
  };
  const auto is_time = [](const auto& entry) { return entry.second >= Duration::zero(); };
  return std::ranges::all_of(seats_, is_seat) && std::ranges::all_of(worked_, is_time);
}

}  // namespace berth
