#include "policy/kit/seats.hpp"

#include <algorithm>
#include <functional>

namespace berth {

std::optional<Ask> on_type(Ask ask, std::size_t type) {
  GpuTypes& types = ask.request.gpu.types;
  const GpuTypes bit = GpuTypes{1} << type;
  if (types != 0 && (types & bit) == 0) return std::nullopt;
  types = bit;
  return ask;
}

std::optional<Ask> together(std::span<const Ask> asks) {
  Ask all = asks.front();
  GpuRequest& gpu = all.request.gpu;
  for (const Ask& ask : asks.subspan(1)) {
    const GpuRequest& its = ask.request.gpu;
    const GpuTypes types =
        gpu.types == 0 || its.types == 0 ? gpu.types | its.types : gpu.types & its.types;
    const bool any_type = gpu.types == 0 && its.types == 0;
    if (all.alone() || ask.alone() || gpu.count != its.count || (types == 0 && !any_type)) {
      return std::nullopt;
    }
    gpu.types = types;
    gpu.vram += its.vram;
    gpu.milli += its.milli;
    gpu.processes += its.processes;
    all.request.cpu += ask.request.cpu;
    all.request.host += ask.request.host;
    all.barred |= ask.barred;
  }
  return all;
}

void clear(Trial& trial, const ClusterView& view) {
  for (const JobId id : view.running()) trial.take(view.find(id)->grant);
}

bool exists(const Placement& place, const Cluster& cluster) {
  return place.host.value() < cluster.nodes().size() &&
         (place.gpus.empty() || place.gpus.back().value() < cluster.gpus().size());
}

Placed OneTypePlacer::place(const Ask& ask, JobId job, const Trial& trial) const {
  if (ask.gpus() == GpuCount(0)) return placer_.place(ask, job, trial);
  Placed placed = std::unexpected(Refusal{});
  for (std::size_t type = 0; type < trial.cluster().type_names().size(); ++type) {
    if (const auto here = on_type(ask, type)) placed = placer_.place(*here, job, trial);
    if (placed) break;
  }
  return placed;
}

bool Seating::seat(std::span<const JobId> jobs, const Ask& ask) {
  Tally tally = tally_;
  for (const JobId job : jobs) {
    if (!tally.allows(job, ask.gpus())) return false;
    tally.take(job, ask.gpus());
  }
  auto place = filler_.place(ask, jobs.front());
  if (!place) return false;
  if (jobs.size() == 1) {
    put(jobs.front(), ask, *place);
  } else if (!share(jobs, ask, *place)) {
    return false;
  }
  seats_.push_back({.jobs = {jobs.begin(), jobs.end()}, .ask = ask, .place = std::move(*place)});
  return true;
}

bool Seating::keep(std::span<const JobId> jobs, const Ask& ask) {
  const Job& first = *view_.find(jobs.front());
  const Placement place = placement_of(first.grant);
  const bool are_there = std::ranges::all_of(jobs, [&](JobId id) {
    const Job& job = *view_.find(id);
    return is_running(job.state) && placement_of(job.grant) == place;
  });
  if (!are_there) return false;
  if (jobs.size() == 1) return hold(jobs.front(), ask, place);
  // Jobs that are to share with no other have been together with those of another seat, perhaps.
  if (ask.alone() && trial_.look(place, ask, jobs.front()) != Why::Fits) return false;
  if (!share(jobs, ask, place)) return false;
  seats_.push_back({.jobs = {jobs.begin(), jobs.end()}, .ask = ask, .place = place});
  return true;
}

/// One after the other there; none if one does not fit.
bool Seating::share(std::span<const JobId> jobs, const Ask& ask, const Placement& place) {
  const Trial::Mark before = trial_.mark();
  for (const JobId id : jobs) {
    Ask own = ask_of(view_.job(id));
    own.request.gpu.types = ask.request.gpu.types;
    if (trial_.look(place, own, id) != Why::Fits) return trial_.rollback(before), false;
    trial_.put(own, place);
  }
  for (const JobId id : jobs) tally_.take(id, ask.gpus());
  return true;
}

bool Seating::hold(JobId job, Ask ask, Placement place) {
  if (!occupy(job, ask, place)) return false;
  ask.request.gpu.count = GpuCount(std::ssize(place.gpus));
  seats_.push_back({.jobs = {job}, .ask = std::move(ask), .place = std::move(place)});
  return true;
}

bool Seating::occupy(JobId job, Ask ask, const Placement& place) {
  const GpuCount gpus(std::ssize(place.gpus));
  const GpuRequest& asked = view_.job(job).request().gpu;
  if (gpus < asked.least() || gpus > asked.most()) return false;
  ask.request.gpu.count = gpus;
  if (trial_.look(place, ask, job) != Why::Fits || !tally_.allows(job, gpus)) return false;
  put(job, ask, place);
  return true;
}

bool Seating::stay(JobId job) {
  const Job& known = *view_.find(job);
  if (!is_running(known.state)) return false;
  trial_.put(known.grant);
  tally_.take(job, known.grant.gpus());
  seats_.push_back(
      {.jobs = {job}, .ask = ask_of(view_.job(job)), .place = placement_of(known.grant)});
  return true;
}

std::set<JobId> Seating::keep_left_alone(std::span<const JobId> jobs) {
  std::set<JobId> kept;
  for (const JobId id : jobs) {
    const JobView job = view_.job(id);
    if (!view_.is_left_alone(job)) continue;
    std::optional<Ask> ask = ask_of(job);
    if (const auto& shares = job.grant().shares; !shares.empty()) {
      ask = on_type(*ask, view_.cluster().gpu(shares.front().gpu).type);
    }
    if (ask && keep(id, *ask)) kept.insert(id);
  }
  for (const JobId id : jobs) {
    const bool stays = !kept.contains(id) && view_.is_left_alone(view_.job(id));
    if (stays && stay(id)) kept.insert(id);
  }
  return kept;
}

void Seating::put(JobId job, const Ask& ask, const Placement& place) {
  trial_.put(ask, place);
  tally_.take(job, ask.gpus());
}

std::vector<Seat> with_fewest_moves(std::vector<Seat> seats, Seating again) {
  std::ranges::stable_sort(seats, std::greater(), [](const Seat& seat) { return seat.ask.gpus(); });
  std::vector<const Seat*> moving;
  for (const Seat& seat : seats) {
    if (!again.keep(seat.jobs, seat.ask)) moving.push_back(&seat);
  }
  for (const Seat* seat : moving) {
    if (!again.seat(seat->jobs, seat->ask)) return seats;
  }
  return again.take();
}

}  // namespace berth
