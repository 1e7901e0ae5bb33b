#include "policy/whole/cell_seats.hpp"

#include <algorithm>
#include <functional>
#include <ranges>
#include <utility>

#include "policy/kit/candidates.hpp"
#include "policy/kit/job_list.hpp"
#include "policy/kit/seats.hpp"
#include "policy/kit/tally.hpp"

namespace berth {

namespace {

Placement placement_at(const Cluster& cluster, std::span<const std::uint32_t> gpus) {
  std::vector<GpuId> ids;
  for (const std::uint32_t gpu : gpus) ids.emplace_back(gpu);
  return placement_on(cluster, std::move(ids));
}

std::vector<std::uint32_t> gpus_of(const Grant& grant) {
  std::vector<std::uint32_t> gpus;
  for (const Share& share : grant.shares) gpus.push_back(share.gpu.value());
  return gpus;
}

/// False for one that has left its place for good, or whose place is not the one that it had.
bool keeps(const Job& job, const CellSeat& seat) {
  if (!is_live(job)) return false;
  if (!is_running(job.state)) return job.state != JobState::Stopping || job.migrating;
  return std::ranges::is_permutation(gpus_of(job.grant), seat.gpus);
}

bool fit_in_turn(std::span<const std::uint32_t> pods, std::span<const std::uint32_t> room) {
  auto node = room.begin();
  std::uint32_t left = 0;
  for (const std::uint32_t pod : pods) {
    while (left < pod) {
      if (node == room.end()) return false;
      left = *node++;
    }
    left -= pod;
  }
  return true;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> pods_of(std::uint32_t gpus,
                                                  std::span<const std::uint32_t> room) {
  std::set<std::uint32_t, std::greater<>> sizes(room.begin(), room.end());
  sizes.insert(1);
  sizes.erase(0);
  for (const std::uint32_t size : sizes) {
    std::vector<std::uint32_t> pods(gpus / size, size);
    if (gpus % size > 0) pods.push_back(gpus % size);
    if (fit_in_turn(pods, room)) return pods;
  }
  return std::nullopt;
}

CellSeats::CellSeats(const ClusterView& view, CellOwners owners, ClusterCells machine)
    : view_(view),
      owners_(std::move(owners)),
      clusters_(std::move(machine), owners_.cells),
      trial_(view.trial()),
      empty_{.use = Occupancy(view.cluster(), view.settings().admission), .log = {}} {
  clear(trial_, view);
}

// ---- Seats of before ---------------------------------------------------------------------------

void CellSeats::restore(std::span<const CellSeat> seats) {
  for (const CellSeat& seat : seats) {
    const Job* const job = view_.find(seat.job);
    if (job != nullptr && keeps(*job, seat)) put(*job, seat);
  }
  std::vector<const Job*> others;
  for (const JobId id : view_.running()) {
    const Job* const job = view_.find(id);
    if (is_running(job->state) && !has(id)) others.push_back(job);
  }
  std::ranges::sort(others, {}, &Job::grant_number);
  for (const Job* job : others) {
    std::vector<std::uint32_t> gpus = gpus_of(job->grant);
    if (!gpus.empty() && put_opportunistic(*job, std::move(gpus))) continue;
    strangers_.push_back(job->id);
    trial_.put(job->grant);
  }
}

void CellSeats::put(const Job& job, const CellSeat& seat) {
  const auto cluster = owners_.of(job.spec.user);
  if (seat.priority >= 0 && cluster) {
    GangPlace place{
        .cluster = *cluster, .priority = seat.priority, .stays = stays(job), .gpus = seat.gpus};
    for (const std::uint32_t gpu : seat.virtual_gpus) {
      place.virtual_gpus.push_back(gpu + clusters_.first_virtual_gpu(*cluster));
    }
    if (clusters_.put(job.id, place)) {
      charge(job);
      return;
    }
  }
  put_opportunistic(job, seat.gpus);
}

bool CellSeats::put_opportunistic(const Job& job, std::vector<std::uint32_t> gpus) {
  const GangPlace place{.priority = -1, .stays = stays(job), .gpus = std::move(gpus)};
  return clusters_.put(job.id, place) && charge(job);
}

/// What its seat takes. One that waits for its place loses it if it does not fit there any more.
bool CellSeats::charge(const Job& job) {
  if (is_running(job.state)) {
    grants_[job.id] = job.grant;
    trial_.put(job.grant);
  } else {
    const Ask ask = ask_of(view_.job(job.id));
    const Placement place = placement_at(view_.cluster(), clusters_.find(job.id)->gpus);
    const bool is_as_large = GpuCount(std::ssize(place.gpus)) == ask.gpus();
    if (!is_as_large || trial_.look(place, ask, job.id) != Why::Fits) {
      clusters_.remove(job.id);
      return false;
    }
    grants_[job.id] = trial_.put(ask, place);
  }
  order_.push_back(job.id);
  return true;
}

bool CellSeats::stays(const Job& job) const {
  return is_running(job.state) && (is_adopted(job.spec) || view_.is_left_alone(view_.job(job.id)));
}

// ---- New seats ---------------------------------------------------------------------------------

void CellSeats::seat(std::span<const JobId> jobs) {
  for (bool again = true; again;) {
    again = false;
    for (const JobId id : jobs) {
      if (!has(id) && seat_in_own(id) == Found::TakenFromOthers) again = true;
    }
  }
  for (const JobId id : jobs) {
    if (!has(id)) seat_anywhere(id);
  }
}

CellSeats::Found CellSeats::seat_in_own(JobId job) {
  const JobView view = view_.job(job);
  const auto cluster = owners_.of(view.user());
  if (!cluster) return Found::Nothing;
  const Ask ask = ask_of(view);
  const auto gpus = static_cast<std::uint32_t>(ask.gpus().raw());
  auto pods = pods_of(gpus, clusters_.node_sizes(*cluster));
  if (!pods) return Found::Nothing;
  return seat_gang(ask, {.id = job,
                         .cluster = *cluster,
                         .priority = std::max(0, view.spec().priority),
                         .pods = std::move(*pods)});
}

CellSeats::Found CellSeats::seat_anywhere(JobId job) {
  const Ask ask = ask_of(view_.job(job));
  if (GpuCount(clusters_.free_gpus()) < ask.gpus()) return Found::Nothing;
  const Trial empty(view_.cluster(), empty_);
  Candidates candidates(ask, job, empty);
  std::vector<std::uint32_t> room;
  for (const NodeId node : view_.cluster().node_ids()) room.push_back(candidates.fitting(node));
  auto pods = pods_of(candidates.wanted(), room);
  if (!pods) return Found::Nothing;
  return seat_gang(ask, {.id = job, .cluster = 0, .priority = -1, .pods = std::move(*pods)});
}

CellSeats::Found CellSeats::seat_gang(const Ask& ask, const Gang& gang) {
  Kind kind(ask, gang.cluster, gang.priority);
  std::get<Ask>(kind).planned = kForever;  // no placement reads it, and nearly each job has another
  if (refused_.contains(kind) || !may_have(gang.id, ask.gpus())) return Found::Nothing;
  const Trial::Mark before = trial_.mark();
  for (const auto& [id, place] : clusters_.gangs()) {
    if (gives_way(place, gang)) trial_.take(grants_.at(id));
  }
  const auto fits = [&](std::span<const std::uint32_t> gpus) {
    return trial_.look(placement_at(view_.cluster(), gpus), ask, gang.id) == Why::Fits;
  };
  const auto choice = clusters_.choose(gang, fits);
  trial_.rollback(before);
  if (!choice) {
    refused_.insert(std::move(kind));
    return Found::Nothing;
  }
  std::vector<JobId> evicted = choice->evicted;
  for (const JobId id : evicted) trial_.take(grants_.at(id));
  if (!fits(choice->gpus)) make_room(gang, [&] { return fits(choice->gpus); }, evicted);
  clusters_.take(gang, *choice);
  for (const JobId id : evicted) {
    clusters_.remove(id);
    grants_.erase(id);
    std::erase(order_, id);
  }
  grants_[gang.id] = trial_.put(ask, placement_at(view_.cluster(), choice->gpus));
  order_.push_back(gang.id);
  if (evicted.empty()) return Found::Free;
  refused_.clear();
  return Found::TakenFromOthers;
}

/// Others there have the cores or the memory: those that give way go until it fits, the latest
/// first, but none in vain.
void CellSeats::make_room(const Gang& gang, const std::function<bool()>& fits,
                          std::vector<JobId>& evicted) {
  std::vector<JobId> taken;
  for (const JobId id : std::views::reverse(order_)) {
    const bool is_gone = std::ranges::find(evicted, id) != evicted.end();
    if (is_gone || !gives_way(*clusters_.find(id), gang)) continue;
    trial_.take(grants_.at(id));
    taken.push_back(id);
    if (fits()) break;
  }
  for (const JobId id : taken) {
    trial_.put(grants_.at(id));
    if (fits()) continue;
    trial_.take(grants_.at(id));
    evicted.push_back(id);
  }
}

/// By the limits of its user, who has what seats take.
bool CellSeats::may_have(JobId job, GpuCount gpus) const {
  if (!view_.settings().has_limits()) return true;
  Tally tally(view_, Tally::From::Nothing);
  for (const auto& [id, grant] : grants_) tally.take(id, grant.gpus());
  for (const JobId id : strangers_) tally.take(id, view_.job(id).gpus());
  return tally.allows(job, gpus);
}

// ---- What comes of them ------------------------------------------------------------------------

std::vector<CellSeat> CellSeats::all() const {
  std::vector<CellSeat> seats;
  for (const JobId id : order_) {
    const GangPlace& place = *clusters_.find(id);
    CellSeat seat{.job = id, .priority = place.priority, .gpus = place.gpus};
    for (const std::uint32_t gpu : place.virtual_gpus) {
      seat.virtual_gpus.push_back(gpu - clusters_.first_virtual_gpu(place.cluster));
    }
    seats.push_back(std::move(seat));
  }
  return seats;
}

std::map<JobId, Placement> CellSeats::places(std::span<const JobId> without_gpus) {
  std::map<JobId, Placement> places;
  for (const JobId id : order_) {
    places[id] = placement_at(view_.cluster(), clusters_.find(id)->gpus);
  }
  for (const JobId id : strangers_) places[id] = placement_of(view_.find(id)->grant);
  for (const JobId id : without_gpus) {
    const Ask ask = ask_of(view_.job(id));
    Placed host = Candidates(ask, id, trial_).first_host();
    if (!host || !may_have(id, GpuCount(0))) continue;
    trial_.put(ask, *host);
    places[id] = std::move(*host);
  }
  return places;
}

Instant CellSeats::changes_at() const {
  Instant earliest = kNever;
  for (const auto& [id, place] : clusters_.gangs()) {
    if (place.stays) earliest = std::min(earliest, view_.left_alone_until(view_.job(id)));
  }
  return earliest;
}

}  // namespace berth
