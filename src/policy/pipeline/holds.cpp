// The part of a pass that keeps places for jobs that wait, and lends them meanwhile.
#include <algorithm>
#include <bit>

#include "core/assert.hpp"
#include "policy/kit/timeline.hpp"
#include "policy/pipeline/pass.hpp"

namespace berth {

void Pass::load_holds() {
  for (const Hold& hold : view_.holds()) {
    if (is_usable(hold)) holds_.push_back(hold);
  }
  const std::vector<std::vector<JobId>> occupants = occupants_of(holds_);
  for (std::size_t h = 0; h < holds_.size(); ++h) {
    if (options_.plans == Plans::Enforced) renew(holds_[h], occupants[h]);
    count_outlasting(holds_[h], occupants[h]);
  }
  std::erase_if(holds_, [&](const Hold& hold) { return !can_still_serve(hold); });
  trial_.respect(holds_, view_.now());
}

/// By hold, the jobs with a berth on a GPU of its place, or on a node of it, ascending. One look at
/// what is granted serves all holds: places are few, grants are many.
std::vector<std::vector<JobId>> Pass::occupants_of(std::span<const Hold> holds) const {
  std::vector<std::vector<JobId>> occupants(holds.size());
  if (holds.empty()) return occupants;
  BERTH_ASSERT(holds.size() <= 64);
  const Cluster& cluster = view_.cluster();
  std::vector<std::uint64_t> kept(cluster.nodes().size(), 0);
  for (std::size_t h = 0; h < holds.size(); ++h) {
    kept[holds[h].placement.host.value()] |= std::uint64_t{1} << h;
    for (const GpuId gpu : holds[h].placement.gpus) {
      kept[cluster.node_of(gpu).value()] |= std::uint64_t{1} << h;
    }
  }
  for (const JobId id : view_.running()) {
    std::uint64_t on = 0;
    for_each_node(cluster, view_.job(id).grant(),
                  [&](NodeId node, std::size_t) { on |= kept[node.value()]; });
    for (; on != 0; on &= on - 1) {
      occupants[static_cast<std::size_t>(std::countr_zero(on))].push_back(id);
    }
  }
  return occupants;
}

/// Sums up who will still be there when the hold begins: all but those it waits for and those whose
/// plans end in time. Where no plan bounds it and no list says whom it waits for, those are the
/// occupants up to `after_grant`; everyone later is taken to stay.
void Pass::count_outlasting(Hold& hold, std::span<const JobId> occupants) const {
  const std::size_t gpus = hold.placement.gpus.size();
  hold.lent.assign(gpus, Bytes(0));
  hold.lent_tenants.assign(gpus, 0);
  hold.lent_milli.assign(gpus, GpuMilli(0));
  const bool listed = options_.plans == Plans::Enforced;
  const auto awaits = [&](std::uint64_t number) {
    return listed ? std::ranges::binary_search(hold.awaited, number)
                  : hold.from == kNever && number <= hold.after_grant;
  };
  for (const JobId id : occupants) {
    const JobView job = view_.job(id);
    if (job.state() == JobState::Stopping || awaits(job.grant_number())) continue;
    lend(hold, job.grant(), counted(job));
  }
  std::uint64_t number = view_.grants();
  for (const Fresh& given : fresh_) {
    if (!awaits(++number)) lend(hold, given.grant, given.planned);
  }
}

/// The run time to come that others may count on.
Duration Pass::counted(const JobView& job) const {
  return options_.plans == Plans::Enforced ? job.enforced() : job.planned();
}

bool Pass::is_usable(const Hold& hold) const {
  const Job* const job = view_.find(hold.job);
  if (job == nullptr || !is_waiting(job->state)) return false;
  if (ask_of(view_.job(hold.job)).request != hold.ask.request) return false;
  if (!tally_.allows(view_.job(hold.job))) return false;
  if (!view_.use().node(hold.placement.host).healthy) return false;
  return std::ranges::all_of(hold.placement.gpus,
                             [&](GpuId gpu) { return berth::is_usable(view_.use().gpu(gpu)); });
}

/// False if foreign use or grown neighbours have made one of its GPUs too small for the job.
bool Pass::can_still_serve(const Hold& hold) const {
  for (std::size_t i = 0; i < hold.placement.gpus.size(); ++i) {
    const GpuSpec& spec = view_.cluster().gpu(hold.placement.gpus[i]);
    GpuUse use = view_.use().gpu(hold.placement.gpus[i]);
    use.charged = hold.lent[i];
    use.tenants = hold.lent_tenants[i];
    use.milli = hold.lent_milli[i];
    if (use.tenants == 0) use.alone = 0;
    if (!admits(view_.settings().admission, spec, use, hold.ask)) return false;
  }
  return true;
}

/// Counts the grant against the hold if it outlasts the hold's start.
void Pass::lend(Hold& hold, const Grant& grant, Duration planned) const {
  const Instant until = lent_until(hold, view_.now());
  if (until != kNever && later(view_.now(), planned) <= until) return;
  for (const Share& share : grant.shares) {
    const auto found = std::ranges::lower_bound(hold.placement.gpus, share.gpu);
    if (found == hold.placement.gpus.end() || *found != share.gpu) continue;
    const auto i = static_cast<std::size_t>(found - hold.placement.gpus.begin());
    hold.lent[i] += share.charge;
    hold.lent_milli[i] += grant.milli;
    ++hold.lent_tenants[i];
  }
}

/// Those with a place kept go first: a job behind them in rank must not hide them. One that starts
/// may have kept another from starting.
void Pass::start_held() {
  for (std::size_t before = holds_.size() + 1; holds_.size() < before;) {
    before = holds_.size();
    const std::vector<Hold> held = holds_;
    for (const Hold& hold : held) {
      if (!tally_.allows(view_.job(hold.job))) continue;
      Placed placed = placer_.place(hold.ask, hold.job, trial_);
      if (placed) start(hold.job, hold.ask, std::move(*placed));
    }
  }
  for (const Hold& hold : holds_) tally_.take(view_.job(hold.job));
}

void Pass::reserve(JobId id, const Ask& ask) {
  if (!has_holds_left()) return;
  trial_.respect({}, view_.now());
  if (options_.plans == Plans::Enforced) {
    promise_place(id, ask);
    trial_.respect(holds_, view_.now());
    return;
  }
  auto earliest = earliest_start(id, ask, view_, placer_, holds_, fresh_, trial_);
  if (earliest) {
    holds_.push_back({.job = id,
                      .ask = ask,
                      .placement = std::move(earliest->placement),
                      .from = earliest->from,
                      .after_grant = earliest->last,
                      .awaited = {},
                      .lent = {},
                      .lent_tenants = {},
                      .lent_milli = {}});
    count_outlasting(holds_.back(), occupants_of(std::span(holds_).last(1)).front());
    tally_.take(view_.job(id));
  }
  trial_.respect(holds_, view_.now());
}

void Pass::drop_hold(JobId id) {
  if (std::erase_if(holds_, [&](const Hold& hold) { return hold.job == id; }) == 0) return;
  hold_dropped_ = true;
  trial_.respect(holds_, view_.now());
}

void Pass::emit_holds() {
  const auto same = [](const Hold& a, const Hold& b) {
    return a.job == b.job && a.placement == b.placement && a.from == b.from &&
           a.promised == b.promised && (a.lend > Duration::zero()) == (b.lend > Duration::zero());
  };
  if (std::ranges::equal(holds_, view_.holds(), same)) return;
  std::vector<Hold> holds = holds_;
  for (Hold& hold : holds) hold.lent.clear(), hold.lent_tenants.clear(), hold.lent_milli.clear();
  decisions_.list.push_back(Reserve{.holds = std::move(holds)});
}

}  // namespace berth
