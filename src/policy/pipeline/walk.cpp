#include "policy/pipeline/walk.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "core/base/assert.hpp"

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

/// Of sets that mean all where they are empty.
bool is_within(std::uint64_t inner, std::uint64_t outer) {
  return outer == 0 || (inner != 0 && (inner & ~outer) == 0);
}

bool later_first(const Head& a, const Head& b) {
  return std::tie(b.group, *b.at) < std::tie(a.group, *a.at);
}

}  // namespace

bool is_no_larger(const Ask& small, const Ask& large, const Cluster& cluster) {
  const GpuRequest& a = small.request.gpu;
  const GpuRequest& b = large.request.gpu;
  if ((a.count == GpuCount(0)) != (b.count == GpuCount(0))) return false;
  if (a.count > b.count || spans_nodes(small, cluster) != spans_nodes(large, cluster)) return false;
  if ((small.barred & ~large.barred) != 0) return false;
  if (!small.home.is_default() && small.home != large.home) return false;
  if (!is_within(b.types, a.types) || !is_within(b.only, a.only) || !needs_no_more_of_a_gpu(a, b))
    return false;
  const Request& x = small.request;
  const Request& y = large.request;
  return per_gpu(x.cpu.raw(), a.count) <= y.cpu.raw() / std::max<std::int64_t>(1, b.count.raw()) &&
         per_gpu(x.host.raw(), a.count) <= y.host.raw() / std::max<std::int64_t>(1, b.count.raw());
}

Walk::Walk(const PassContext& context)
    : context_(context),
      depends_on_(context.order.depends_on()),
      lanes_version_(context.order.lanes_version()),
      trial_(context.view.trial()),
      tally_(context.view, Tally::From::Now) {}

void Walk::wake(Instant at) {
  if (at <= view().now() || at == kNever) return;
  decisions_.wake_at = std::min(decisions_.wake_at.value_or(kNever), at);
}

// ---- The queue -------------------------------------------------------------------------------

void Walk::begin_all() {
  heads_.clear();
  has_ended_ = false;
  if (context_.index.empty()) return;
  heads_.reserve(context_.index.full().size());
  for (Lane* const lane : context_.index.full()) {
    if (!lane->closed) lane->refusal = {.why = Why::Order};
    heads_.push_back({group_rank(*lane, lane->jobs.begin()->job), lane->jobs.begin(), lane});
  }
  std::ranges::make_heap(heads_, later_first);
}

void Walk::begin_open() {
  heads_.clear();
  has_ended_ = false;
  if (context_.index.empty()) return;
  heads_.reserve(context_.index.open().size());
  for (Lane* const lane : context_.index.open()) {
    lane->refusal = {.why = Why::Order};
    if (!lane->jobs.empty())
      heads_.push_back({group_rank(*lane, lane->jobs.begin()->job), lane->jobs.begin(), lane});
  }
  std::ranges::make_heap(heads_, later_first);
}

void Walk::close_hopeless() {
  constexpr std::size_t kMany = 256;
  std::vector<Lane*>& open = context_.index.open();
  const bool is_by_ask = context_.gates.list.empty() && view().holds().empty() &&
                         !view().settings().has_limits() && !options().rebuild;
  if (depends_on_ != DependsOn::Lane || open.size() < kMany || !is_by_ask) return;
  std::map<Ask, std::optional<Refusal>> known;
  auto last = known.end();  // lanes of one ask stand together
  for (Lane* const lane : open) {
    if (lane->jobs.empty()) continue;
    if (last == known.end() || last->first != lane->key.ask) {
      const auto [found, is_new] = known.try_emplace(lane->key.ask);
      last = found;
      const Placed placed =
          is_new ? choose(lane->jobs.begin()->job, ask_of(*lane), nullptr) : Placed();
      if (!placed) last->second = placed.error();
    }
    if (!last->second) continue;
    lane->refusal = *last->second;
    lane->closed = true;
  }
  std::erase_if(open, [](const Lane* lane) { return lane->closed; });
}

void Walk::add(Lane& lane) {
  push({group_rank(lane, lane.jobs.begin()->job), lane.jobs.begin(), &lane, true});
}

void Walk::push(const Head& head) {
  heads_.push_back(head);
  std::ranges::push_heap(heads_, later_first);
}

void Walk::push(Head head, std::set<Position>::const_iterator at) {
  BERTH_ASSERT(!has_ended_);
  if (at == head.lane->jobs.end()) return;
  head.at = at;
  head.group = group_rank(*head.lane, head.job());
  push(head);
}

void Walk::pass_on(const Head& head) { push(head, std::next(head.at)); }

void Walk::pass_on_within(const Head& head, Duration longest) {
  BERTH_ASSERT(context_.index.shape().by_run);
  const Lane& lane = *head.lane;
  std::optional<Position> best;  // of the brief jobs looked at
  auto brief = lane.by_run.begin();
  for (auto at = std::next(head.at); at != lane.jobs.end(); ++at) {
    if (counted_on(at->job) <= longest) return push(head, at);
    if (brief == lane.by_run.end() || brief->first > longest) break;
    const Position& position = context_.index.position_of((brief++)->second);
    if (position > *head.at && (!best || position < *best)) best = position;
  }
  if (best) push(head, lane.jobs.find(*best));
}

std::optional<Head> Walk::next() {
  BERTH_ASSERT(!has_ended_);
  while (!heads_.empty()) {
    std::ranges::pop_heap(heads_, later_first);
    Head head = heads_.back();
    heads_.pop_back();
    if (!has_fallen_back(head)) return head;
    push(head);
  }
  return std::nullopt;
}

void Walk::end() {
  has_ended_ = true;
  std::erase_if(context_.index.open(), [](const Lane* lane) { return lane->closed; });
}

Rank Walk::group_rank(UserId user) {
  if (depends_on_ != DependsOn::Group) return {};
  const auto [found, fresh] = group_ranks_.try_emplace(user);
  if (fresh) found->second = order().group_rank(user, view());
  return found->second;
}

Rank Walk::known_group_rank(Lane& lane, JobId job) {
  if (depends_on_ != DependsOn::Lane) return group_rank(lane.key.user);
  const bool is_kept = lanes_version_ && lane.jobs.begin()->job == job;
  if (is_kept && lane.first && lane.first->job == job && lane.first->version == *lanes_version_)
    return lane.first->rank;
  const Rank rank = order().lane_rank(view().job(job), view());
  if (is_kept) lane.first = {.job = job, .version = *lanes_version_, .rank = rank};
  return rank;
}

Standing Walk::standing_of(JobId id) {
  const Position& position = context_.index.position_of(id);
  return {group_rank(*context_.index.lane_of(id), id), position};
}

std::optional<Head> Walk::head_of(JobId id) {
  Lane* const lane = context_.index.lane_of(id);
  if (lane == nullptr) return std::nullopt;
  return Head{group_rank(*lane, id), lane->jobs.find(context_.index.position_of(id)), lane};
}

/// True if its user was given something since it was queued and others may be next; then it has its
/// new rank.
bool Walk::has_fallen_back(Head& head) {
  if (depends_on_ != DependsOn::Group) return false;
  const Rank now = group_rank(head.lane->key.user);
  if (now == head.group) return false;
  head.group = now;
  return true;
}

// ---- Places ----------------------------------------------------------------------------------

Why Walk::why_ruled_out(const Ask& ask) const {
  const auto covers = [&](const Ask& refused) {
    return is_no_larger(refused, ask, view().cluster());
  };
  if (std::ranges::any_of(ruled_out_, covers)) return Why::Capacity;
  // A place kept is lent by the ask and its plan alone: no larger and longer one gets it either.
  const auto outlasts = [&](const Ask& refused) {
    return refused.planned <= ask.planned && covers(refused);
  };
  return std::ranges::any_of(kept_from_, outlasts) ? Why::Reservation : Why::Fits;
}

void Walk::rule_out(const Ask& ask, Refusal refusal) {
  if (options().rebuild || refusal.is_personal() || why_ruled_out(ask) != Why::Fits) return;
  // Health does not change within a pass, so it rules out larger asks just as capacity does.
  const bool by_hold = refusal.why == Why::Reservation;
  std::vector<Ask>& refused = by_hold ? kept_from_ : ruled_out_;
  std::erase_if(refused, [&](const Ask& old) {
    return (!by_hold || ask.planned <= old.planned) && is_no_larger(ask, old, view().cluster());
  });
  refused.push_back(ask);
}

Why Walk::refused_before(JobId id, const Ask& ask) const {
  return tally_.allows(id, ask.gpus()) ? why_ruled_out(ask) : Why::Limit;
}

Placed Walk::place(JobId id, const Ask& ask, Choices* choices) {
  const Why known = refused_before(id, ask);
  return known == Why::Fits ? find(id, ask, choices) : std::unexpected(Refusal{known});
}

Placed Walk::choose(JobId id, const Ask& ask, Choices* choices) const {
  if (choices == nullptr) return placer().place(ask, id, trial_);
  if (const auto known = choices->find(ask); known != choices->end()) return known->second;
  Placed placed = placer().place(ask, id, trial_);
  if (placed) choices->emplace(ask, *placed);
  return placed;
}

Placed Walk::find(JobId id, const Ask& ask, Choices* choices) {
  std::vector<GpuId> avoided;
  std::vector<std::vector<GpuId>> by_gate;
  for (const auto& gate : context_.gates.list) {
    by_gate.push_back(gate->avoided(id, view(), started_));
    std::ranges::sort(by_gate.back());
    std::ranges::copy(by_gate.back(), std::back_inserter(avoided));
  }
  std::ranges::sort(avoided);
  trial_.avoid(avoided);
  Placed placed = choose(id, ask, avoided.empty() ? choices : nullptr);
  if (!placed) return placed;
  Duration left = Duration::zero();
  GateWord word;
  for (std::size_t i = 0; i < by_gate.size(); ++i) {
    trial_.avoid(std::move(by_gate[i]));  // what another gate avoids is nothing to this one
    const Gate& gate = *context_.gates.list[i];
    const Duration here = gate.wait(view().job(id), *placed, trial_, view());
    if (here <= left) continue;
    left = here;
    word = gate.word(view().job(id), *placed, trial_, view());
  }
  trial_.avoid(std::move(avoided));
  if (left == Duration::zero()) return placed;
  const Instant until = later(view().now(), left);
  look_again(until);
  return std::unexpected(Refusal{.why = Why::Patience, .until = until, .gate = word});
}

const Grant& Walk::start(JobId id, const Ask& ask, Placement placement, Because because) {
  const JobView job = view().job(id);
  started_.push_back({ask.planned, trial_.put(ask, placement), id});
  const Grant& grant = started_.back().grant;
  if (context_.order.note_start(job, grant)) group_ranks_.erase(job.user());
  tally_.take(id, ask.gpus());
  decisions_.list.push_back(
      Start{.job = id, .placement = std::move(placement), .because = because});
  return grant;
}

void Walk::keep(std::vector<Hold> holds) {
  const auto same = [](const Hold& a, const Hold& b) {
    return a.job == b.job && a.ask.request == b.ask.request && a.placement == b.placement &&
           a.from == b.from && a.promised == b.promised;
  };
  if (std::ranges::equal(holds, view().holds(), same)) return;
  decisions_.list.push_back(Reserve{.holds = std::move(holds)});
}

bool Walk::is_started(JobId id) const {
  return std::ranges::find(started_, id, &Fresh::job) != started_.end();
}

}  // namespace berth
