#include "policy/pipeline/lending.hpp"

#include <algorithm>
#include <utility>

namespace berth {

namespace {

constexpr std::size_t kMostFirst = 64;  ///< Short jobs that go first in one pass.

/// For the end of borrowers by their limits: they are asked first, and memory is seen free later.
Duration slack(const LendingOptions& options) { return options.delay / 10; }

/// When a job that gave way would have been delayed for as long as it may be.
Instant due_back(const JobView& job, const ClusterView& view, const LendingOptions& options) {
  return later(view.now(), options.delay) - job.delayed();
}

bool stops(const Job& job) { return job.state == JobState::Stopping && !job.ending; }

/// Counts one more grant that runs for `planned` from now on, if it stays beyond the room's end.
void count_if_staying(KeptRoom& room, const Grant& grant, Duration planned, Instant now) {
  if (room.until != kNever && later(now, planned) <= room.until) return;
  const std::vector<GpuId>& gpus = room.hold.placement.gpus;
  for (const Share& share : grant.shares) {
    const auto found = std::ranges::lower_bound(gpus, share.gpu);
    if (found == gpus.end() || *found != share.gpu) continue;
    const auto i = static_cast<std::size_t>(found - gpus.begin());
    room.charged[i] += share.charge;
    room.milli[i] += grant.milli;
    ++room.tenants[i];
  }
}

}  // namespace

bool is_sane(const Loans& loans) {
  const auto has_gpus = [](const auto& of) { return !of.second.gpus.empty(); };
  return std::ranges::all_of(loans.lent, has_gpus) && std::ranges::all_of(loans.borrowed, has_gpus);
}

Ask Lending::ask_for(JobId id) const {
  return walk_.context().gates.ask(ask_of(walk_.view().job(id)));
}

// ---- Places kept -----------------------------------------------------------------------------

/// With what stays there beyond its end. O(running).
KeptRoom Lending::counted(KeptRoom room) const {
  const ClusterView& view = walk_.view();
  const std::size_t gpus = room.hold.placement.gpus.size();
  room.charged.assign(gpus, Bytes(0));
  room.tenants.assign(gpus, 0);
  room.milli.assign(gpus, GpuMilli(0));
  for (const JobId id : view.running()) {
    const JobView job = view.job(id);
    if (job.state() == JobState::Stopping) continue;
    count_if_staying(room, job.grant(), job.enforced(), view.now());
  }
  for (const Fresh& given : walk_.started()) {
    count_if_staying(room, given.grant, given.planned, view.now());
  }
  return room;
}

/// Nothing for a job that holds GPUs still, or cannot use them any more.
std::optional<KeptRoom> Lending::room_of_lender(JobId id, const Placement& place) const {
  const ClusterView& view = walk_.view();
  const JobView job = view.job(id);
  const Instant due = due_back(job, view, options_);
  const Hold hold{.job = id, .ask = ask_for(id), .placement = place, .from = due, .promised = due};
  const bool is_healthy =
      std::ranges::all_of(place.gpus, [&](GpuId gpu) { return is_usable(view.use().gpu(gpu)); });
  if (!is_healthy) return std::nullopt;
  return counted({.hold = hold, .until = due - slack(options_)});
}

/// True if a borrower that starts now would not end in time for the jobs whose places it has. Those
/// and it would keep each other out.
bool Lending::is_late(JobId id, const Placement& place) const {
  const ClusterView& view = walk_.view();
  const Instant end = later(view.now(), ask_for(id).planned);
  return std::ranges::any_of(loans_.lent, [&](const auto& lent) {
    const bool meets = std::ranges::any_of(place.gpus, [&](GpuId gpu) {
      return std::ranges::find(lent.second.gpus, gpu) != lent.second.gpus.end();
    });
    return meets && end > due_back(view.job(lent.first), view, options_) - slack(options_);
  });
}

void Lending::keep_places() {
  const ClusterView& view = walk_.view();
  std::erase_if(loans_.lent, [&](const auto& lent) {
    const Job* const job = view.find(lent.first);
    return job == nullptr || !(is_waiting(job->state) || stops(*job));
  });
  std::erase_if(loans_.borrowed, [&](const auto& borrowed) {
    const Job* const job = view.find(borrowed.first);
    return job == nullptr || !is_waiting(job->state) || is_late(borrowed.first, borrowed.second) ||
           ask_for(borrowed.first).gpus().raw() != std::ssize(borrowed.second.gpus);
  });
  respect(true);
}

/// Borrowers first: a lender is not there yet when they are.
void Lending::respect(bool with_borrowers) {
  const ClusterView& view = walk_.view();
  walk_.trial().respect({}, view.now());
  rooms_.clear();
  for (const auto& [id, place] : loans_.borrowed) {
    if (!with_borrowers || walk_.is_started(id)) continue;
    const Hold hold{.job = id, .ask = ask_for(id), .placement = place, .from = view.now()};
    rooms_.push_back(counted({.hold = hold, .until = view.now()}));
  }
  for (const auto& [id, place] : loans_.lent) {
    if (walk_.is_started(id)) continue;
    if (auto room = room_of_lender(id, place)) rooms_.push_back(std::move(*room));
  }
  walk_.trial().respect(rooms_, view.now());
}

void Lending::note_start(JobId id, const Grant& grant, Duration planned) {
  if (loans_.borrowed.contains(id)) return respect(true);  // its place is not kept any more
  for (KeptRoom& room : rooms_) count_if_staying(room, grant, planned, walk_.view().now());
}

std::vector<Hold> Lending::holds() const {
  std::vector<Hold> holds;
  const ClusterView& view = walk_.view();
  for (const auto& [id, place] : loans_.borrowed) {
    if (walk_.is_started(id)) continue;
    holds.push_back({.job = id, .ask = ask_for(id), .placement = place});
  }
  for (const auto& [id, place] : loans_.lent) {
    if (walk_.is_started(id)) continue;
    const Instant due = due_back(view.job(id), view, options_);
    holds.push_back(
        {.job = id, .ask = ask_for(id), .placement = place, .from = due, .promised = due});
  }
  return holds;
}

/// Short jobs that end in time go before all, then the jobs that gave way: others may be promised
/// what these need, and would keep them out.
std::vector<JobId> Lending::first() {
  std::vector<JobId> first;
  for (const auto& [id, place] : loans_.borrowed) first.push_back(id);
  if (loans_.lent.empty()) return first;
  const ClusterView& view = walk_.view();
  Instant latest = view.now();
  for (const KeptRoom& room : rooms_) {
    if (loans_.lent.contains(room.hold.job)) latest = std::max(latest, room.until);
  }
  walk_.begin_all();
  while (const auto head = walk_.next()) {
    const JobView job = view.job(head->job());
    const bool is_brief =
        job.duration_class() == DurationClass::Short && later(view.now(), job.enforced()) <= latest;
    if (!is_brief || first.size() >= kMostFirst) continue;
    if (!loans_.borrowed.contains(job.id())) first.push_back(job.id());
    walk_.pass_on(*head);
  }
  for (const auto& [id, place] : loans_.lent) {
    if (is_waiting(view.find(id)->state)) first.push_back(id);
  }
  return first;
}

// ---- Lending ---------------------------------------------------------------------------------

void Lending::lend() {
  const ClusterView& view = walk_.view();
  respect(false);
  for (const JobId id : view.running()) {
    if (view.find(id)->state == JobState::Stopping) room_.add(id);
  }
  std::erase_if(loans_.borrowed, [&](const auto& of) { return walk_.is_started(of.first); });
  const std::size_t before = loans_.borrowed.size();
  std::erase_if(loans_.borrowed, [&](const auto& borrowed) {
    const auto& [id, place] = borrowed;
    const Ask ask = ask_for(id);
    if (room_.look(place, ask, id) != Why::Fits) return true;
    room_.promise(id, ask, place);
    walk_.tally().take(id, ask.gpus());
    return false;
  });
  if (loans_.borrowed.size() < before) walk_.wake(view.now() + Duration(1));  // others have room
  std::vector<std::pair<Lane*, Refusal>> said;                                // by the walk before
  for (auto& [key, lane] : walk_.context().index.lanes()) said.emplace_back(&lane, lane.refusal);
  walk_.begin_all();
  while (const auto head = walk_.next()) {
    const JobId id = head->job();
    const bool has_place = walk_.is_started(id) || loans_.borrowed.contains(id);
    if (has_place || serve(id, walk_.ask_of(*head->lane))) walk_.pass_on(*head);
  }
  for (auto& [lane, refusal] : said) lane->refusal = refusal;
}

bool Lending::may_borrow(JobId id, const Ask& ask) {
  const JobView job = walk_.view().job(id);
  const bool is_brief = job.duration_class() == DurationClass::Short &&
                        job.enforced() <= options_.delay - slack(options_) &&
                        ask.gpus() > GpuCount(0) && !job.request().gpu.is_elastic();
  if (!is_brief || loans_.lent.contains(id) || !walk_.tally().allows(id, ask.gpus())) return false;
  const Duration left = options_.after - job.waited();
  if (left > Duration::zero()) walk_.wake(later(walk_.view().now(), left));
  return left <= Duration::zero();
}

/// Returns: whether the job has a place now that it waits for.
bool Lending::serve(JobId id, const Ask& ask) {
  if (!may_borrow(id, ask)) return false;
  std::optional<Placement> place = room_.place(id, ask);
  if (!place) {
    for (const JobId lender : lenders_for(ask)) {
      place = place_without(lender, id, ask);
      if (!place) continue;
      room_.add(lender);
      loans_.lent[lender] = placement_of(walk_.view().job(lender).grant());
      walk_.decisions().list.push_back(Preempt{.job = lender});
      break;
    }
  }
  if (!place) {
    hopeless_.push_back(ask);
    return false;
  }
  room_.promise(id, ask, *place);
  walk_.tally().take(id, ask.gpus());
  loans_.borrowed[id] = std::move(*place);
  respect(false);
  return true;
}

/// The long jobs that may give way for so long, the one that was delayed least first.
std::vector<JobId> Lending::lenders_for(const Ask& ask) const {
  const ClusterView& view = walk_.view();
  const bool is_hopeless = std::ranges::any_of(hopeless_, [&](const Ask& other) {
    return other.planned <= ask.planned && is_no_larger(other, ask, view.cluster());
  });
  std::vector<JobId> lenders;
  if (is_hopeless) return lenders;
  for (const JobId id : view.running()) {
    const JobView job = view.job(id);
    const bool is_long = job.duration_class() == DurationClass::Medium ||
                         job.duration_class() == DurationClass::Long;
    const bool may = job.state() == JobState::Running && is_long && !loans_.lent.contains(id) &&
                     !job.grant().shares.empty() && !job.request().gpu.is_elastic() &&
                     !view.is_left_alone(job);
    if (!may || job.delayed() + ask.planned + slack(options_) > options_.delay) continue;
    const Instant rested = later(job.granted_at(), options_.turn);
    if (rested > view.now()) {
      walk_.wake(rested);
    } else {
      lenders.push_back(id);
    }
  }
  std::ranges::stable_sort(lenders, {}, [&](JobId id) { return view.job(id).delayed(); });
  return lenders;
}

std::optional<Placement> Lending::place_without(JobId lender, JobId id, const Ask& ask) {
  Trial& trial = walk_.trial();
  const Trial::Mark mark = trial.mark();
  for (const JobId leaving : room_.leaving()) trial.take(walk_.view().find(leaving)->grant);
  trial.take(walk_.view().find(lender)->grant);
  Placed placed = walk_.placer().place(ask, id, trial);
  trial.rollback(mark);
  return placed ? std::optional(std::move(*placed)) : std::nullopt;
}

}  // namespace berth
