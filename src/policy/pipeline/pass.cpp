#include "policy/pipeline/pass.hpp"

#include <algorithm>
#include <tuple>

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
  const bool small_whole = small.sharing == Sharing::Alone && small.vram == Bytes(0);
  const bool large_whole = large_alone && large.vram == Bytes(0);
  if (small_whole != large_whole) return false;
  const bool memory =
      large_whole || (small.vram <= large.vram && small.processes <= large.processes);
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

Pass::Pass(const ClusterView& view, Order& order, const Placer& placer,
           const PipelineOptions& options)
    : view_(view),
      order_(order),
      placer_(placer),
      options_(options),
      trial_(view.trial()),
      tally_(view, Tally::From::Now) {
  if (options_.no_fit == HeadOfLine::Reserve) load_holds();
}

void Pass::wake(Instant at) {
  if (at <= view_.now() || at == kNever) return;
  decisions_.wake_at = std::min(decisions_.wake_at.value_or(kNever), at);
}

void Pass::run(PendingIndex& index, const RunningIndex& running) {
  const bool preempts = options_.preemption == Preemption::ByRank;
  if (preempts) load_running(running);
  if (has_holds_left()) index.reopen();  // a job refused before may get one now
  if (options_.no_fit == HeadOfLine::Reserve) start_held();
  walk(index);
  while (hold_dropped_ && options_.no_fit == HeadOfLine::Reserve) {  // whom it kept out may fit now
    hold_dropped_ = false;
    ruled_out_.clear();
    kept_from_.clear();
    unkeepable_.clear();
    another_is_next_ = false;
    index.reopen();
    walk(index);
  }
  emit_stops();
  emit_holds();
  if (preempts && (ranked_ || placed_.size() < index.size())) wake_for_running();
}

void Pass::walk(PendingIndex& index) {
  const auto later_first = [](const Head& a, const Head& b) {
    return std::tie(b.group, *b.at) < std::tie(a.group, *a.at);
  };
  std::vector<Head> heads = heads_of(index);
  if (heads.empty()) return;
  std::ranges::make_heap(heads, later_first);
  const auto queue = [&](const Head& head) {
    heads.push_back(head);
    std::ranges::push_heap(heads, later_first);
  };
  while (!heads.empty()) {
    std::ranges::pop_heap(heads, later_first);
    Head head = heads.back();
    heads.pop_back();
    if (has_fallen_back(head)) {
      queue(head);
      continue;
    }
    const Verdict verdict = visit(head);
    if (verdict == Verdict::Stop) break;
    const bool more = verdict == Verdict::Next && ++head.at != head.lane->jobs.end();
    if (more) {
      head.group = group_rank(*head.lane, head.at->job);
      queue(head);
    }
    for (; joined_ < returning_.size(); ++joined_) queue(head_of(returning_[joined_]));
  }
  std::erase_if(index.open(), [](const Lane* lane) { return lane->closed; });
}

std::vector<Pass::Head> Pass::heads_of(PendingIndex& index) {
  std::vector<Head> heads;
  heads.reserve(options_.no_fit == HeadOfLine::Block ? index.lanes().size() : index.open().size());
  const auto add = [&](Lane& lane) {
    if (!lane.jobs.empty()) {
      heads.push_back({group_rank(lane, lane.jobs.begin()->job), lane.jobs.begin(), &lane});
    }
  };
  if (options_.no_fit == HeadOfLine::Block) {  // a closed lane blocks too
    for (auto& [key, lane] : index.lanes()) add(lane);
  } else {
    for (Lane* lane : index.open()) add(*lane);
  }
  for (; joined_ < returning_.size(); ++joined_) heads.push_back(head_of(returning_[joined_]));
  return heads;
}

Pass::Head Pass::head_of(Returning& returning) {
  const auto at = returning.lane.jobs.begin();
  return {group_rank(returning.lane, at->job), at, &returning.lane, &returning};
}

Rank Pass::group_rank(UserId user) {
  if (order_.depends_on() != DependsOn::Group) return {};
  const auto [found, fresh] = group_ranks_.try_emplace(user);
  if (fresh) found->second = order_.group_rank(user, view_);
  return found->second;
}

Rank Pass::group_rank(const Lane& lane, JobId first) {
  if (order_.depends_on() == DependsOn::Lane) return order_.lane_rank(view_.job(first), view_);
  return group_rank(lane.key.user);
}

/// True if its user was given something since it was queued and others may be next; then it has its
/// new rank.
bool Pass::has_fallen_back(Head& head) {
  if (order_.depends_on() != DependsOn::Group) return false;
  const Rank now = group_rank(head.lane->key.user);
  if (now == head.group) return false;
  head.group = now;
  return true;
}

Pass::Verdict Pass::visit(const Head& head) {
  const JobId id = head.at->job;
  const bool reserves = options_.no_fit == HeadOfLine::Reserve;
  if (head.returning != nullptr) {
    visit_returning(head);
    return Verdict::CloseLane;
  }
  if (reserves && (is_placed(id) || is_held(id))) return Verdict::Next;
  if (head.lane->closed) return Verdict::Stop;  // only a blocking walk meets one
  if (!tally_.allows(view_.job(id))) {          // its user's other asks may be smaller
    head.lane->closed = true;
    return Verdict::CloseLane;
  }
  const Ask ask = ask_of_lane(*head.lane);
  const Why known = why_ruled_out(ask);
  const Why why = known == Why::Fits ? try_start(head, ask) : known;
  if (why == Why::Fits) return Verdict::Next;
  if (known == Why::Fits) rule_out(ask, why);
  if (may_reserve(id, why)) {
    reserve(id, ask);
    const bool others_may = options_.plans == Plans::Declared || is_held(id);
    if (others_may && has_holds_left()) return Verdict::Next;  // the next of its kind may get one
  }
  head.lane->closed = true;
  return options_.no_fit == HeadOfLine::Block ? Verdict::Stop : Verdict::CloseLane;
}

Ask Pass::ask_of_lane(const Lane& lane) const {
  Ask ask = lane.key.ask;
  if (options_.exclusive && ask.gpus() > GpuCount(0)) ask.request.gpu.sharing = Sharing::Alone;
  return ask;
}

/// Why an ask need not be tried in this walk; Fits if it must be.
Why Pass::why_ruled_out(const Ask& ask) const {
  const auto covers = [&](const Ask& refused) {
    return is_no_larger(refused, ask, view_.cluster());
  };
  if (std::ranges::any_of(ruled_out_, covers)) return Why::Capacity;
  // A place kept is lent by the ask and its plan alone: no larger and longer one gets it either.
  const auto outlasts = [&](const Ask& refused) {
    return refused.planned <= ask.planned && covers(refused);
  };
  return std::ranges::any_of(kept_from_, outlasts) ? Why::Reservation : Why::Fits;
}

void Pass::rule_out(const Ask& ask, Why why) {
  if (options_.rebuild || why == Why::Limit) return;
  // Health does not change within a pass, so it rules out larger asks just as capacity does.
  const bool by_hold = why == Why::Reservation;
  std::vector<Ask>& refused = by_hold ? kept_from_ : ruled_out_;
  std::erase_if(refused, [&](const Ask& old) {
    return (!by_hold || ask.planned <= old.planned) && is_no_larger(ask, old, view_.cluster());
  });
  refused.push_back(ask);
}

/// True for a job that has waited long enough, and is not refused for its own sake.
bool Pass::may_reserve(JobId id, Why why) const {
  return options_.no_fit == HeadOfLine::Reserve && why != Why::Limit &&
         view_.job(id).waited() >= options_.reserve_after;
}

bool Pass::has_holds_left() const {
  return options_.no_fit == HeadOfLine::Reserve && !another_is_next_ &&
         std::ssize(holds_) < options_.reservation_depth;
}

bool Pass::is_held(JobId id) const {
  return std::ranges::find(holds_, id, &Hold::job) != holds_.end();
}

bool Pass::is_placed(JobId id) const { return std::ranges::find(placed_, id) != placed_.end(); }

Why Pass::try_start(const Head& head, const Ask& ask) {
  const JobId id = head.at->job;
  const bool preempts = options_.preemption == Preemption::ByRank;
  if (preempts && keep_promise(head, ask)) return Why::Fits;
  avoid_slow_company(id);
  Placed placed = placer_.place(ask, id, trial_);
  if (placed && must_wait_to_share(id, *placed)) return Why::Limit;
  if (placed && must_wait_to_spread(id, *placed)) return Why::Limit;
  if (placed) {
    start(id, ask, std::move(*placed));
    return Why::Fits;
  }
  if (placed.error().retry_at) wake(*placed.error().retry_at);
  if (!preempts) return placed.error().why;
  if (auto place = place_without_leaving(id, ask)) {
    promise(head, ask, std::move(*place));
    return Why::Fits;
  }
  return displace_for(head, ask) ? Why::Fits : placed.error().why;
}

/// Marks GPUs with a tenant beside which this job, or which beside it, is known to run too slowly.
void Pass::avoid_slow_company(JobId id) {
  const Company& company = view_.company();
  if (!company.knows_pairs() || options_.share_after == Duration::zero()) return;
  const Fingerprint what = company.of(id);
  const std::int64_t least = std::int64_t{options_.share_below_percent} * 10'000;
  std::vector<GpuId> slow;
  const auto judge = [&](JobId tenant, const Grant& grant) {
    const Fingerprint other = company.of(tenant);
    const std::int64_t rate =
        std::min(company.rate_ppm(what, other), company.rate_ppm(other, what));
    if (rate >= least) return;
    for (const Share& share : grant.shares) slow.push_back(share.gpu);
  };
  if (what != Fingerprint(0)) {
    for (const JobId tenant : view_.running()) judge(tenant, view_.job(tenant).grant());
    for (const Fresh& fresh : fresh_) judge(fresh.job, fresh.grant);
  }
  std::ranges::sort(slow);
  trial_.avoid(std::move(slow));
}

/// True if it would join tenants on a busy GPU and has not waited long enough for that.
bool Pass::must_wait_to_share(JobId id, const Placement& placement) const {
  if (view_.job(id).waited() >= options_.share_after) return false;
  return std::ranges::any_of(placement.gpus, [&](GpuId gpu) {
    const GpuUse& use = trial_.use().gpu(gpu);
    return use.tenants > 0 &&
           (use.utilisation >= options_.share_below_percent || trial_.is_avoided(gpu));
  });
}

/// True if its GPUs are further apart than it need bear yet.
bool Pass::must_wait_to_spread(JobId id, const Placement& placement) const {
  if (placement.gpus.empty()) return false;
  const Cluster& cluster = view_.cluster();
  const JobView job = view_.job(id);
  const NodeSpec& last = cluster.node(cluster.node_of(placement.gpus.back()));
  const bool fits_one = job.gpus().raw() <= static_cast<std::int64_t>(cluster.largest_node());
  const bool leaves_node = cluster.node_of(placement.gpus.back()) != placement.host;
  const bool leaves_switch = last.switch_id != cluster.node(placement.host).switch_id;
  return (leaves_node && fits_one && job.waited() < options_.leave_node_after) ||
         (leaves_switch && job.waited() < options_.leave_switch_after);
}

void Pass::start(JobId id, const Ask& ask, Placement placement) {
  const JobView job = view_.job(id);
  Grant grant = trial_.put(ask, placement);
  if (order_.note_start(job, grant)) group_ranks_.erase(job.user());
  if (options_.no_fit == HeadOfLine::Reserve) {
    for (Hold& hold : holds_) lend(hold, grant, ask.planned);
    fresh_.push_back({ask.planned, std::move(grant), id});
  }
  placed_.push_back(id);
  tally_.take(job);
  drop_hold(id);
  const Because because = holds_.empty() ? Because::ItsTurn : Because::Backfilled;
  if (job.state() == JobState::Suspended) {
    decisions_.list.push_back(Resume{id, std::move(placement), because});
  } else {
    decisions_.list.push_back(
        Start{.job = id, .placement = std::move(placement), .because = because});
  }
}

}  // namespace berth
