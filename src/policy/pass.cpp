#include "policy/pass.hpp"

#include <algorithm>
#include <ranges>
#include <tuple>

#include "policy/timeline.hpp"

namespace berth {

namespace {

/// Host cores or memory per GPU, rounded up; the whole for a job without GPUs.
std::int64_t per_gpu(std::int64_t amount, GpuCount gpus) {
  const std::int64_t parts = std::max<std::int64_t>(1, gpus.raw());
  return (amount + parts - 1) / parts;
}

bool spans_nodes(const Ask& ask, const Cluster& cluster) {
  return ask.gpus().raw() > static_cast<std::int64_t>(cluster.largest_node());
}

/// An ask for whole GPUs needs no less of each than any other.
bool needs_no_more_of_a_gpu(const GpuRequest& small, const GpuRequest& large) {
  const bool large_alone = large.sharing == Sharing::Alone;
  if (small.sharing == Sharing::Alone && !large_alone) return false;
  const bool whole = large_alone && large.vram == Bytes(0);
  const bool memory = whole || (small.vram <= large.vram && small.processes <= large.processes &&
                                (small.vram > Bytes(0) || small.sharing == Sharing::Shared));
  return memory && small.milli <= large.milli;
}

}  // namespace

bool is_no_larger(const Ask& small, const Ask& large, const Cluster& cluster) {
  const GpuRequest& a = small.request.gpu;
  const GpuRequest& b = large.request.gpu;
  if ((a.count == GpuCount(0)) != (b.count == GpuCount(0))) return false;
  if (a.count > b.count || spans_nodes(small, cluster) != spans_nodes(large, cluster)) return false;
  const bool types = a.types == 0 || (b.types != 0 && (b.types & ~a.types) == 0);
  if (!types || a.profile != b.profile || !needs_no_more_of_a_gpu(a, b)) return false;
  const Request& x = small.request;
  const Request& y = large.request;
  return per_gpu(x.cpu.raw(), a.count) <= y.cpu.raw() / std::max<std::int64_t>(1, b.count.raw()) &&
         per_gpu(x.host.raw(), a.count) <= y.host.raw() / std::max<std::int64_t>(1, b.count.raw());
}

Pass::Pass(const ClusterView& view, const Order& order, const Placer& placer,
           const PipelineOptions& options)
    : view_(view), order_(order), placer_(placer), options_(options), trial_(view.trial()) {
  if (options_.no_fit == HeadOfLine::Reserve) load_holds();
  if (options_.preemption == Preemption::Never) return;
  for (const JobId id : view.running()) {
    if (view.find(id)->state == JobState::Stopping) leaving_.push_back(id);
  }
}

void Pass::wake(Instant at) {
  if (at <= view_.now() || at == kNever) return;
  decisions_.wake_at = std::min(decisions_.wake_at.value_or(kNever), at);
}

// ---- The walk --------------------------------------------------------------------------------

void Pass::run(PendingIndex& index) {
  const bool head_needs_hold =
      options_.no_fit == HeadOfLine::Reserve && std::ssize(holds_) < options_.reservation_depth;
  if (head_needs_hold) index.reopen();
  walk(index);
  while (hold_dropped_) {  // those its hold kept out may fit now
    hold_dropped_ = false;
    ruled_out_.clear();
    index.reopen();
    walk(index);
  }
  emit_holds();
  const bool preempts = options_.preemption == Preemption::ByRank;
  if (preempts && placed_.size() < index.size()) rank_running();  // for its wake-ups
}

void Pass::walk(PendingIndex& index) {
  const auto later_first = [](const Head& a, const Head& b) {
    return std::tie(b.group, *b.at) < std::tie(a.group, *a.at);
  };
  std::vector<Head> heads = heads_of(index);
  std::ranges::make_heap(heads, later_first);
  while (!heads.empty()) {
    std::ranges::pop_heap(heads, later_first);
    Head& head = heads.back();
    const Verdict verdict = visit(head);
    if (verdict == Verdict::Stop) break;
    const bool more = verdict == Verdict::Next && ++head.at != head.lane->jobs.end();
    if (more) {
      std::ranges::push_heap(heads, later_first);
    } else {
      heads.pop_back();
    }
  }
  std::erase_if(index.open(), [](const Lane* lane) { return lane->closed; });
}

std::vector<Pass::Head> Pass::heads_of(PendingIndex& index) {
  std::vector<Head> heads;
  const auto add = [&](Lane& lane) {
    if (!lane.jobs.empty()) {
      heads.push_back({group_rank(lane.key.user), lane.jobs.begin(), &lane});
    }
  };
  if (options_.no_fit == HeadOfLine::Block) {  // a closed lane blocks too
    for (auto& [key, lane] : index.lanes()) add(lane);
  } else {
    for (Lane* lane : index.open()) add(*lane);
  }
  return heads;
}

Rank Pass::group_rank(UserId user) {
  if (order_.depends_on() != DependsOn::Group) return {};
  const auto [found, fresh] = group_ranks_.try_emplace(user);
  if (fresh) found->second = order_.group_rank(user, view_);
  return found->second;
}

Pass::Verdict Pass::visit(const Head& head) {
  const JobId id = head.at->job;
  if (is_placed(id)) return Verdict::Next;
  if (head.lane->closed) return Verdict::Stop;  // only a blocking walk meets one
  if (is_over_limit(view_.job(id))) {           // its user's other asks may be smaller
    head.lane->closed = true;
    return Verdict::CloseLane;
  }
  Ask ask = head.lane->key.ask;
  if (options_.exclusive && ask.gpus() > GpuCount(0)) {
    ask.request.gpu.sharing = Sharing::Alone;
    ask.request.gpu.vram = Bytes(0);
  }
  const Why why = is_ruled_out(ask) ? Why::Capacity : try_start(head, ask);
  if (why == Why::Fits) return Verdict::Next;
  head.lane->closed = true;
  return refuse(id, ask, why);
}

Pass::Verdict Pass::refuse(JobId id, const Ask& ask, Why why) {
  passed_ = true;
  if (why == Why::Capacity) rule_out(ask);
  if (options_.no_fit == HeadOfLine::Reserve) reserve(id, ask);
  return options_.no_fit == HeadOfLine::Block ? Verdict::Stop : Verdict::CloseLane;
}

bool Pass::is_ruled_out(const Ask& ask) const {
  return std::ranges::any_of(
      ruled_out_, [&](const Ask& refused) { return is_no_larger(refused, ask, view_.cluster()); });
}

void Pass::rule_out(const Ask& ask) {
  if (options_.rebuild || is_ruled_out(ask)) return;
  std::erase_if(ruled_out_,
                [&](const Ask& refused) { return is_no_larger(ask, refused, view_.cluster()); });
  ruled_out_.push_back(ask);
}

bool Pass::is_over_limit(const JobView& job) const {
  const UserLimits& limits = view_.settings().limits;
  if (!limits.any()) return false;
  const Account account = view_.account(job.user());
  const auto found = taken_.find(job.user());
  const Taken taken = found == taken_.end() ? Taken{} : found->second;
  const bool gpus =
      limits.gpus > GpuCount(0) && account.gpus + taken.gpus + job.gpus() > limits.gpus;
  const bool jobs = limits.jobs > 0 && account.jobs + taken.jobs + 1 > limits.jobs;
  return gpus || jobs;
}

bool Pass::is_placed(JobId id) const {
  if (hold_dropped_ || options_.no_fit == HeadOfLine::Reserve) {
    return std::ranges::find(placed_, id) != placed_.end();
  }
  return false;  // a single walk meets each job once
}

// ---- Placing one job -------------------------------------------------------------------------

Why Pass::try_start(const Head& head, const Ask& ask) {
  const JobId id = head.at->job;
  Placed placed = placer_.place(ask, id, trial_);
  if (placed) {
    start(id, ask, std::move(*placed));
    return Why::Fits;
  }
  if (placed.error().retry_at) wake(*placed.error().retry_at);
  if (options_.preemption == Preemption::Never) return placed.error().why;
  if (const auto grant = place_without_leaving(id, ask)) {
    promise(id, *grant);
    return Why::Fits;
  }
  return displace_for(head, ask) ? Why::Fits : placed.error().why;
}

void Pass::start(JobId id, const Ask& ask, Placement placement) {
  const JobView job = view_.job(id);
  const Grant grant = trial_.put(ask, placement);
  for (Hold& hold : holds_) lend(hold, grant, ask.planned);
  placed_.push_back(id);
  ++starts_;
  Taken& taken = taken_[job.user()];
  taken.gpus += job.gpus();
  ++taken.jobs;
  drop_hold(id);
  const Because because = !passed_         ? Because::ItsTurn
                          : holds_.empty() ? Because::Passed
                                           : Because::Backfilled;
  if (job.state() == JobState::Suspended) {
    decisions_.list.push_back(Resume{id, std::move(placement), because});
  } else {
    decisions_.list.push_back(
        Start{.job = id, .placement = std::move(placement), .because = because});
  }
}

void Pass::promise(JobId id, const Grant& grant) {
  trial_.put(grant);  // beside those that leave: nobody else may take it
  placed_.push_back(id);
}

std::optional<Grant> Pass::place_without_leaving(JobId id, const Ask& ask) {
  if (leaving_.empty()) return std::nullopt;
  const Trial::Mark mark = trial_.mark();
  take_off_leaving();
  std::optional<Grant> grant;
  if (const Placed placed = placer_.place(ask, id, trial_)) grant = trial_.put(ask, *placed);
  trial_.rollback(mark);
  return grant;
}

void Pass::take_off_leaving() {
  for (const JobId id : leaving_) trial_.take(view_.find(id)->grant);
}

// ---- Whom a job may displace -----------------------------------------------------------------

void Pass::rank_running() {
  if (ranked_) return;
  ranked_ = true;
  for (const JobId id : view_.running()) {
    const JobView job = view_.job(id);
    if (job.state() == JobState::Stopping) continue;
    const Ranked ranked = order_.rank(job, view_);
    if (ranked.valid_until) wake(*ranked.valid_until);
    const Instant safe_until = later(job.granted_at(), options_.quantum);
    if (safe_until > view_.now()) {
      wake(safe_until);
    } else {
      running_.push_back({group_rank(job.user()), ranked.rank, id});
    }
  }
  std::ranges::sort(running_, {},
                    [](const Running& r) { return std::tie(r.group, r.rank, r.job); });
}

std::vector<std::size_t> Pass::worse_than(const Head& head) {
  rank_running();
  const auto first = std::ranges::upper_bound(
      running_, std::tie(head.group, head.at->rank), {},
      [](const Running& running) { return std::tie(running.group, running.rank); });
  std::vector<std::size_t> worst_first;
  for (auto i = std::ssize(running_) - 1; i >= first - running_.begin(); --i) {
    const auto index = static_cast<std::size_t>(i);
    if (!running_[index].gone) worst_first.push_back(index);
  }
  return worst_first;
}

bool Pass::can_gain(const Ask& ask, std::span<const std::size_t> victims) const {
  if (!ask.alone()) return !victims.empty();
  GpuCount gpus = trial_.use().vacant();
  for (const std::size_t victim : victims) gpus += view_.job(running_[victim].job).gpus();
  for (const JobId id : leaving_) gpus += view_.job(id).gpus();
  return !victims.empty() && gpus >= ask.gpus();
}

void Pass::take_off(std::span<const std::size_t> victims) {
  for (const std::size_t victim : victims) trial_.take(view_.find(running_[victim].job)->grant);
}

std::optional<std::size_t> Pass::fewest_victims(JobId id, const Ask& ask,
                                                std::span<const std::size_t> victims) {
  const auto fits_without = [&](std::size_t count) {
    const Trial::Mark mark = trial_.mark();
    take_off(victims.first(count));
    const bool fits = placer_.place(ask, id, trial_).has_value();
    trial_.rollback(mark);
    return fits;
  };
  std::size_t low = 1;
  std::size_t high = victims.size();
  if (!fits_without(high)) return std::nullopt;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (fits_without(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

bool Pass::displace_for(const Head& head, const Ask& ask) {
  const JobId id = head.at->job;
  const std::vector<std::size_t> victims = worse_than(head);
  if (!can_gain(ask, victims)) return false;
  const Trial::Mark mark = trial_.mark();
  take_off_leaving();
  const auto count = fewest_victims(id, ask, victims);
  if (!count) {
    trial_.rollback(mark);
    return false;
  }
  const auto chosen = std::span(victims).first(*count);
  take_off(chosen);
  const Grant grant = trial_.put(ask, *placer_.place(ask, id, trial_));
  std::vector<std::size_t> displaced;
  for (const std::size_t victim : std::views::reverse(chosen)) {  // best first: some may stay
    const JobView job = view_.job(running_[victim].job);
    if (trial_.look(placement_of(job.grant()), ask_of(job), job.id()) == Why::Fits) {
      trial_.put(job.grant());
    } else {
      displaced.push_back(victim);
    }
  }
  trial_.rollback(mark);
  for (const std::size_t victim : displaced) displace(victim);
  promise(id, grant);
  return true;
}

void Pass::displace(std::size_t victim) {
  running_[victim].gone = true;
  leaving_.push_back(running_[victim].job);
  decisions_.list.push_back(Preempt{.job = running_[victim].job, .how = options_.preempt_how});
}

// ---- Places kept for jobs that wait ----------------------------------------------------------

void Pass::load_holds() {
  for (const Hold& hold : view_.holds()) {
    if (is_usable(hold)) holds_.push_back(hold);
  }
  for (Hold& hold : holds_) {
    const std::size_t gpus = hold.placement.gpus.size();
    hold.lent.assign(gpus, Bytes(0));
    hold.lent_tenants.assign(gpus, 0);
    hold.lent_milli.assign(gpus, GpuMilli(0));
    for (const JobId id : view_.running()) {
      const JobView job = view_.job(id);
      if (job.grant_number() <= hold.after_grant || job.state() == JobState::Stopping) continue;
      lend(hold, job.grant(), job.remaining());
    }
  }
  trial_.respect(holds_, view_.now());
}

bool Pass::is_usable(const Hold& hold) const {
  const Job* const job = view_.find(hold.job);
  if (job == nullptr || !is_waiting(job->state)) return false;
  if (!view_.use().node(hold.placement.host).healthy) return false;
  return std::ranges::all_of(hold.placement.gpus, [&](GpuId gpu) {
    return view_.use().gpu(gpu).healthy && view_.use().node(view_.cluster().node_of(gpu)).healthy;
  });
}

void Pass::lend(Hold& hold, const Grant& grant, Duration planned) const {
  if (hold.from != kNever && later(view_.now(), planned) <= hold.from) return;
  for (const Share& share : grant.shares) {
    const auto found = std::ranges::lower_bound(hold.placement.gpus, share.gpu);
    if (found == hold.placement.gpus.end() || *found != share.gpu) continue;
    const auto i = static_cast<std::size_t>(found - hold.placement.gpus.begin());
    hold.lent[i] += share.charge;
    hold.lent_milli[i] += grant.milli;
    ++hold.lent_tenants[i];
  }
}

void Pass::reserve(JobId id, const Ask& ask) {
  if (std::ssize(holds_) >= options_.reservation_depth) return;
  if (std::ranges::find(holds_, id, &Hold::job) != holds_.end()) return;
  trial_.respect({}, view_.now());
  auto earliest = earliest_start(id, ask, view_, placer_, holds_, trial_);
  if (earliest) {
    const std::size_t gpus = earliest->placement.gpus.size();
    holds_.push_back({.job = id,
                      .ask = ask,
                      .placement = std::move(earliest->placement),
                      .from = earliest->from,
                      .after_grant = view_.grants() + starts_,
                      .lent = std::vector<Bytes>(gpus),
                      .lent_tenants = std::vector<std::uint16_t>(gpus),
                      .lent_milli = std::vector<GpuMilli>(gpus)});
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
    return a.job == b.job && a.placement == b.placement && a.from == b.from;
  };
  if (std::ranges::equal(holds_, view_.holds(), same)) return;
  std::vector<Hold> holds = holds_;
  for (Hold& hold : holds) hold.lent.clear(), hold.lent_tenants.clear(), hold.lent_milli.clear();
  decisions_.list.push_back(Reserve{.holds = std::move(holds)});
}

}  // namespace berth
