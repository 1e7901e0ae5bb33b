// The part of a pass that keeps places where only enforced limits count (Plans::Enforced).
//
// A place is chosen by what limits say, and if they do not say enough by what estimates and classes
// make likely. It is kept until those who were on it and are in the way have gone: they are listed.
// If each of them has a limit, the last of these is promised. If not, nobody knows; then whoever
// has a limit no further away than the prediction may borrow the place, or one no longer than the
// job has waited (`lend` at least), and no other. So once the last occupant without a limit has
// gone, the rest is a promise, and the wait has at most doubled.
#include <algorithm>
#include <ranges>

#include "policy/kit/classes.hpp"
#include "policy/pipeline/pass.hpp"

namespace berth {

namespace {

bool needs_host(const Ask& ask) {
  return ask.gpus() == GpuCount(0) || ask.request.cpu > CpuMilli(0) || ask.request.host > Bytes(0);
}

void sort_by_departure(std::vector<Leaving>& leaving) {
  std::ranges::sort(leaving, {}, [](const Leaving& l) { return std::pair(l.at, l.grant_number); });
}

/// Calls visit(grant number, grant, job) for every occupant, those started in this pass included.
template <class Visit>
void for_each_occupant(const ClusterView& view, std::span<const Fresh> fresh, Visit visit) {
  for (const JobId id : view.running()) {
    const JobView job = view.job(id);
    visit(job.grant_number(), job.grant(), job);
  }
  std::uint64_t number = view.grants();
  for (const Fresh& given : fresh) visit(++number, given.grant, view.job(given.job));
}

}  // namespace

std::vector<Leaving> Pass::leaving_by_limit() const {
  std::vector<Leaving> leaving;
  for_each_occupant(view_, fresh_, [&](std::uint64_t number, const Grant& grant, JobView job) {
    const bool stops = job.state() == JobState::Stopping;
    const Instant end = stops ? view_.now() : later(view_.now(), job.enforced());
    if (end != kNever) leaving.push_back({end, number, &grant, true});
  });
  sort_by_departure(leaving);
  return leaving;
}

std::vector<Leaving> Pass::leaving_by_expectation() const {
  std::vector<Leaving> leaving;
  for_each_occupant(view_, fresh_, [&](std::uint64_t number, const Grant& grant, JobView job) {
    const bool stops = job.state() == JobState::Stopping;
    const Duration left = expected(job, view_.settings().headroom);
    leaving.push_back({.at = stops ? view_.now() : later(view_.now(), left),
                       .grant_number = number,
                       .grant = &grant,
                       .is_sure = stops || job.enforced() != kForever});
  });
  sort_by_departure(leaving);
  return leaving;
}

void Pass::promise_place(JobId id, const Ask& ask) {
  const bool hopeless = std::ranges::any_of(
      unkeepable_, [&](const Ask& other) { return is_no_larger(other, ask, view_.cluster()); });
  if (hopeless && !options_.rebuild) return;
  std::vector<Leaving> leaving = leaving_by_limit();
  auto earliest = earliest_start({id, ask}, placer_, leaving, holds_, trial_);
  if (!earliest) {
    leaving = leaving_by_expectation();
    earliest = earliest_start({id, ask}, placer_, leaving, holds_, trial_);
  }
  if (!earliest) {
    unkeepable_.push_back(ask);
    // Places kept for others are all that is in the way: none is kept for jobs behind it until they
    // are gone. Else it is a matter of health.
    another_is_next_ = earliest_start({id, ask}, placer_, leaving, {}, trial_).has_value();
    return;
  }
  Hold hold{.job = id,
            .ask = ask,
            .placement = std::move(earliest->placement),
            .from = view_.now(),
            .awaited = {},
            .lent = {},
            .lent_tenants = {},
            .lent_milli = {}};
  await(hold, std::span(leaving).first(earliest->gone));
  count_outlasting(hold, occupants_of(std::span(&hold, 1)).front());
  holds_.push_back(std::move(hold));
  tally_.take(view_.job(id));
}

/// Lists those on the place that must leave, of those that will have left. One without a limit that
/// the job fits beside need not: it would only make the time uncertain.
void Pass::await(Hold& hold, std::span<const Leaving> leaving) {
  const Trial::Mark before = trial_.mark();
  for (const Leaving& occupant : leaving) trial_.take(*occupant.grant);
  for (const Hold& kept : holds_) trial_.put(kept.ask, kept.placement);
  const auto fits_beside = [&](const Grant& grant) {
    const Trial::Mark mark = trial_.mark();
    trial_.put(grant);
    const bool fits = trial_.look(hold.placement, hold.ask, hold.job) == Why::Fits;
    if (!fits) trial_.rollback(mark);
    return fits;
  };
  bool sure = true;
  for (const Leaving& occupant : std::views::reverse(leaving)) {  // the last to leave may stay
    if (!touches(hold, *occupant.grant)) continue;
    if (!occupant.is_sure && fits_beside(*occupant.grant)) continue;
    hold.awaited.push_back(occupant.grant_number);
    hold.from = std::max(hold.from, occupant.at);
    sure = sure && occupant.is_sure;
  }
  trial_.rollback(before);
  std::ranges::sort(hold.awaited);
  if (!sure) hold.lend = lend_for(hold.job);
  if (sure && !hold.awaited.empty()) hold.promised = hold.from;
}

/// For how long a place may be lent while nobody knows when it will be free: for as long as its job
/// has waited, in doubling steps, so that the wait at most doubles by it.
Duration Pass::lend_for(JobId id) {
  if (options_.lend == Duration::zero()) return Duration::zero();
  const Duration waited = view_.job(id).waited();
  Duration lend = options_.lend;
  while (lend <= waited / 2) lend *= 2;
  const Instant next = later(view_.now(), 2 * lend - waited);
  revisit_ = std::min(revisit_.value_or(kNever), next);
  return lend;
}

/// Lends on while somebody without a limit is awaited. Once they have all gone, everybody there is
/// bounded, and the time is promised.
void Pass::renew(Hold& hold, std::span<const JobId> occupants) {
  const bool lends = hold.lend > Duration::zero();
  if (lends) hold.lend = lend_for(hold.job);
  const Instant until = lent_until(hold, view_.now());
  Instant gone = view_.now();
  bool sure = true;
  for (const JobId id : occupants) {
    const JobView job = view_.job(id);
    if (job.state() == JobState::Stopping || !touches(hold, job.grant())) continue;
    const Instant end = later(view_.now(), job.enforced());
    const bool awaited = std::ranges::binary_search(hold.awaited, job.grant_number());
    if (awaited && end == kNever) sure = false;
    if (end != kNever && (awaited || end <= until)) gone = std::max(gone, end);
  }
  if (!sure) {
    hold.lend = lend_for(hold.job);
    if (hold.from < view_.now()) hold.from = kNever;  // the prediction was wrong
  } else if (lends) {
    hold.lend = Duration::zero();
    hold.from = hold.promised = gone;
  }
}

/// True if the grant is on a GPU of the place, or on a node of it whose cores or memory count.
bool Pass::touches(const Hold& hold, const Grant& grant) const {
  const auto& gpus = hold.placement.gpus;
  const auto is_kept = [&](const Share& share) {
    return std::ranges::binary_search(gpus, share.gpu);
  };
  if (std::ranges::any_of(grant.shares, is_kept)) return true;
  if (!needs_host(hold.ask)) return false;
  const Cluster& cluster = view_.cluster();
  bool touches = false;
  for_each_node(cluster, grant, [&](NodeId node, std::size_t) {
    touches = touches || node == hold.placement.host ||
              std::ranges::any_of(gpus, [&](GpuId gpu) { return cluster.node_of(gpu) == node; });
  });
  return touches;
}

}  // namespace berth
