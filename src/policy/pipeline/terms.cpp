#include "policy/pipeline/terms.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "policy/kit/classes.hpp"
#include "policy/pipeline/holds.hpp"

namespace berth {

namespace {

void sort_by_departure(std::vector<Leaving>& leaving) {
  std::ranges::sort(leaving, {}, [](const Leaving& l) { return std::pair(l.at, l.grant_number); });
}

/// A job that is gone by then may use the place.
Instant lent_until(const Hold& hold, Duration lend, Instant now) {
  if (lend == Duration::zero()) return hold.from;
  const Instant rolling = later(now, lend);
  return hold.from == kNever ? rolling : std::max(hold.from, rolling);
}

/// Calls visit(grant number, grant, job) for every occupant, those started in this pass included.
template <class Visit>
void for_each_occupant(const Walk& walk, Visit visit) {
  const ClusterView& view = walk.view();
  for (const JobId id : view.running()) {
    const JobView job = view.job(id);
    visit(job.grant_number(), job.grant(), job);
  }
  std::uint64_t number = view.grants();
  for (const Fresh& given : walk.started()) visit(++number, given.grant, view.job(given.job));
}

std::vector<Leaving> leaving_by_limit(const Walk& walk) {
  const Instant now = walk.view().now();
  std::vector<Leaving> leaving;
  for_each_occupant(walk, [&](std::uint64_t number, const Grant& grant, JobView job) {
    const bool stops = job.state() == JobState::Stopping;
    const Instant end = stops ? now : later(now, job.enforced());
    if (end != kNever) leaving.push_back({end, number, &grant, true});
  });
  sort_by_departure(leaving);
  return leaving;
}

std::vector<Leaving> leaving_by_expectation(const Walk& walk) {
  const Instant now = walk.view().now();
  std::vector<Leaving> leaving;
  for_each_occupant(walk, [&](std::uint64_t number, const Grant& grant, JobView job) {
    const bool stops = job.state() == JobState::Stopping;
    const Duration left = expected(job, walk.options().classes);
    leaving.push_back({.at = stops ? now : later(now, left),
                       .grant_number = number,
                       .grant = &grant,
                       .is_sure = stops || job.enforced() != kForever});
  });
  sort_by_departure(leaving);
  return leaving;
}

/// For how long a place may be lent while it is unknown when it becomes free: for as long as its
/// job has waited, in doubling steps, so that the wait at most doubles.
Duration lend_for(JobId id, Walk& walk) {
  if (walk.options().lend == Duration::zero()) return Duration::zero();
  const Duration waited = walk.view().job(id).waited();
  Duration lend = walk.options().lend;
  while (lend <= waited / 2) lend *= 2;
  walk.look_again(later(walk.view().now(), 2 * lend - waited));
  return lend;
}

/// Lists those on the place that must leave, of those that will have left. One without a limit that
/// the job fits beside need not: it would only make the time uncertain.
Terms await(KeptRoom& room, std::span<const Leaving> leaving, std::span<const KeptRoom> others,
            Walk& walk) {
  Trial& trial = walk.trial();
  Hold& hold = room.hold;
  Terms terms;
  const Trial::Mark before = trial.mark();
  for (const Leaving& occupant : leaving) trial.take(*occupant.grant);
  for (const KeptRoom& kept : others) trial.put(kept.hold.ask, kept.hold.placement);
  const auto fits_beside = [&](const Grant& grant) {
    const Trial::Mark mark = trial.mark();
    trial.put(grant);
    const bool fits = trial.look(hold.placement, hold.ask, hold.job) == Why::Fits;
    if (!fits) trial.rollback(mark);
    return fits;
  };
  bool sure = true;
  for (const Leaving& occupant : std::views::reverse(leaving)) {  // the last to leave may stay
    if (!touches(hold, *occupant.grant, walk.view().cluster())) continue;
    if (!occupant.is_sure && fits_beside(*occupant.grant)) continue;
    terms.awaited.push_back(occupant.grant_number);
    hold.from = std::max(hold.from, occupant.at);
    sure = sure && occupant.is_sure;
  }
  trial.rollback(before);
  std::ranges::sort(terms.awaited);
  if (!sure) terms.lend = lend_for(hold.job, walk);
  if (sure && !terms.awaited.empty()) hold.promised = hold.from;
  room.until = lent_until(hold, terms.lend, walk.view().now());
  return terms;
}

void renew(KeptRoom& room, Terms& terms, std::span<const JobId> occupants, Walk& walk) {
  const ClusterView& view = walk.view();
  Hold& hold = room.hold;
  const bool lends = terms.lend > Duration::zero();
  if (lends) terms.lend = lend_for(hold.job, walk);
  const Instant until = lent_until(hold, terms.lend, view.now());
  Instant gone = view.now();
  bool sure = true;
  for (const JobId id : occupants) {
    const JobView job = view.job(id);
    if (job.state() == JobState::Stopping || !touches(hold, job.grant(), view.cluster())) continue;
    const Instant end = later(view.now(), job.enforced());
    const bool awaited = std::ranges::binary_search(terms.awaited, job.grant_number());
    if (awaited && end == kNever) sure = false;
    if (end != kNever && (awaited || end <= until)) gone = std::max(gone, end);
  }
  if (!sure) {
    terms.lend = lend_for(hold.job, walk);
    if (hold.from < view.now()) hold.from = kNever;  // the prediction was wrong
  } else if (lends) {
    terms.lend = Duration::zero();
    hold.from = hold.promised = gone;
  }
  room.until = lent_until(hold, terms.lend, view.now());
}

}  // namespace

bool are_sane(const TermsByJob& terms) {
  return std::ranges::all_of(terms, [](const auto& of) {
    return of.second.lend >= Duration::zero() && std::ranges::is_sorted(of.second.awaited);
  });
}

std::expected<RoomOnTerms, NoPlace> first_free(Walk& walk, JobId job, const Ask& ask,
                                               std::span<const KeptRoom> kept) {
  const auto earliest = [&](std::span<const Leaving> leaving, std::span<const KeptRoom> beside) {
    return earliest_start({job, ask}, walk.placer(), leaving, beside, walk.trial());
  };
  std::vector<Leaving> leaving = leaving_by_limit(walk);
  auto found = earliest(leaving, kept);
  if (!found) {
    leaving = leaving_by_expectation(walk);
    found = earliest(leaving, kept);
  }
  if (!found) {
    const bool others = earliest(leaving, {}).has_value();
    return std::unexpected(others ? NoPlace::Others : NoPlace::Health);
  }
  KeptRoom room{.hold = {.job = job,
                         .ask = ask,
                         .placement = std::move(found->placement),
                         .from = walk.view().now()}};
  Terms terms = await(room, std::span(leaving).first(found->gone), kept, walk);
  const auto occupants = occupants_of(std::span(&room, 1), walk.view());
  count_staying(room, terms.awaited, occupants.front(), walk.view(), walk.started());
  return RoomOnTerms{.room = std::move(room), .terms = std::move(terms)};
}

std::vector<KeptRoom> still_kept(Walk& walk, TermsByJob& terms) {
  const ClusterView& view = walk.view();
  std::vector<KeptRoom> rooms;
  for (const Hold& hold : view.holds()) {
    const bool is_own = terms.contains(hold.job);
    if (is_own && is_usable(hold, view, walk.tally())) rooms.push_back({.hold = hold});
  }
  const std::vector<std::vector<JobId>> occupants = occupants_of(rooms, view);
  for (std::size_t r = 0; r < rooms.size(); ++r) {
    Terms& its = terms[rooms[r].hold.job];
    renew(rooms[r], its, occupants[r], walk);
    count_staying(rooms[r], its.awaited, occupants[r], view, walk.started());
  }
  std::erase_if(rooms, [&](const KeptRoom& room) { return !can_still_serve(room, view); });
  return rooms;
}

}  // namespace berth
