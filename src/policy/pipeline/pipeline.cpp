#include "policy/pipeline/pipeline.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/bytes.hpp"
#include "policy/pipeline/backfill.hpp"

namespace berth {

namespace {

std::optional<Instant> earlier(std::optional<Instant> a, std::optional<Instant> b) {
  return a && b ? std::min(*a, *b) : (a ? a : b);
}

void append(Decisions more, Decisions& decisions) {
  std::ranges::move(more.list, std::back_inserter(decisions.list));
  decisions.wake_at = earlier(decisions.wake_at, more.wake_at);
}

}  // namespace

Pipeline::Pipeline(std::unique_ptr<Order> order, std::unique_ptr<Placer> placer,
                   std::unique_ptr<Backfill> backfill, const PipelineOptions& options, Gates gates)
    : order_(std::move(order)),
      placer_(std::move(placer)),
      options_(options),
      gates_(std::move(gates)),
      backfill_(std::move(backfill)) {
  order_->configure(options_, gates_);
}

Pipeline::~Pipeline() = default;

Snapshot Pipeline::save() const {
  const Snapshot order = order_->save();
  const Snapshot backfill = backfill_->save();
  if (order.empty() && backfill.empty() && look_again_ == kNever) return {};
  ByteWriter writer;
  writer.text(order);
  writer.text(backfill);
  writer.integer(micros(look_again_));
  return writer.take();
}

Expected<void> Pipeline::restore(const Snapshot& bytes) {
  fresh_ = true;
  ByteReader reader(bytes);
  const Snapshot order(bytes.empty() ? "" : reader.text());
  const Snapshot backfill(bytes.empty() ? "" : reader.text());
  look_again_ = bytes.empty() ? kNever : instant_from_micros(reader.integer());
  if (reader.failed() || !reader.at_end()) {
    return fail(ErrorCode::BadData, "policy memory: not that of an order and a backfill");
  }
  if (auto done = backfill_->restore(backfill); !done) return done;
  return order_->restore(order);
}

void Pipeline::update(JobId id, const ClusterView& view) {
  Lane* const lane = index_.update(id, view, *order_);
  if (lane == nullptr) return;
  if (!lane->possible) lane->possible = feasibility_.allows(view.job(id), view, *placer_);
  if (*lane->possible) return;
  index_.erase(id);
  const bool is_new = std::ranges::find(impossible_, id) == impossible_.end();
  if (is_new) impossible_.push_back(id);  // several events may name it
}

void Pipeline::refresh(const ClusterView& view, std::span<const Event> events) {
  const bool limited = view.settings().has_limits();
  const PendingIndex::Shape shape{.by_user = order_->depends_on() == DependsOn::Group ||
                                             order_->depends_on() == DependsOn::Lane || limited,
                                  .by_plan = backfill_->by_plan(),
                                  .by_known = !gates_.list.empty(),
                                  .by_run = backfill_->by_run(),
                                  .plans = plans_of(options_)};
  impossible_.clear();
  const bool other_rules = settings_ != view.settings() || bounds_ != view.preemption_bounds();
  settings_ = view.settings();
  bounds_ = view.preemption_bounds();
  if (options_.rebuild || other_rules || shape.by_user != index_.shape().by_user) fresh_ = true;
  if (fresh_) {
    index_.clear(shape);
    view.for_each_pending([&](const JobView& job) { update(job.id(), view); });
  } else {
    for (const Event& event : events) update(event.job, view);
    if (order_->depends_on() == DependsOn::Cluster) index_.rerank_all(view, *order_);
  }
  expired_ = index_.expire(view, *order_);
  const bool is_due = look_again_ <= view.now();
  if (is_due) look_again_ = kNever;
  const auto asks = [&](const auto& gate) { return gate->looks_again(view, events); };
  const bool may_differ = limited || expired_ || is_due || backfill_->looks_again(view, events) ||
                          std::ranges::any_of(gates_.list, asks);
  const bool reopens = view.room_version() != room_version_ || may_differ;
  if (reopens) index_.reopen();
  room_version_ = view.room_version();
  const bool keeps_ranks = keep_their_ranks();
  is_quiet_ = !fresh_ && !reopens && keeps_ranks &&
              std::ranges::all_of(
                  events, [](const Event& event) { return event.kind == EventKind::Submitted; });
}

/// Of the waiting jobs that no event names and whose own ranks have not expired.
bool Pipeline::keep_their_ranks() {
  const auto before = std::exchange(lanes_version_, order_->lanes_version());
  const DependsOn on = order_->depends_on();
  return on == DependsOn::Job || (on == DependsOn::Lane && before && before == lanes_version_);
}

std::optional<Refused> Pipeline::refused(JobId job, const ClusterView&) const {
  const Lane* const lane = index_.lane_of(job);
  if (lane == nullptr) return std::nullopt;
  return Refused{.ask = gates_.ask(lane->key.ask),
                 .refusal = backfill_->refusal(job).value_or(lane->refusal)};
}

/// After the walk, which may have preempted some of them already.
void Pipeline::evict(const ClusterView& view, Decisions& decisions) const {
  for (const auto& gate : gates_.list) {
    const Evicted evicted = gate->evicted(view);
    if (evicted.look_at != kNever) {
      decisions.wake_at = earlier(decisions.wake_at, evicted.look_at);
    }
    for (const JobId id : evicted.jobs) {
      const bool is_told = std::ranges::any_of(decisions.list, [&](const Decision& decision) {
        const auto* const preempt = std::get_if<Preempt>(&decision);
        return preempt != nullptr && preempt->job == id;
      });
      if (!is_told) decisions.list.push_back(Preempt{.job = id});
    }
  }
}

Decisions Pipeline::decide(const ClusterView& view, std::span<const Event> events) {
  placer_->prepare(view, events);
  Decisions decisions = order_->prepare(view, events);
  refresh(view, events);
  Walk walk({.view = view,
             .events = events,
             .order = *order_,
             .placer = *placer_,
             .options = options_,
             .gates = gates_,
             .index = index_,
             .is_fresh = std::exchange(fresh_, false),
             .ranks_expired = expired_,
             .is_quiet = is_quiet_});
  backfill_->run(walk);
  look_again_ = std::min(look_again_, walk.looks_again_at());
  walk.wake(look_again_);
  append(std::move(walk.decisions()), decisions);
  for (Decision& decision : decisions.list) {
    if (auto* const start = std::get_if<Start>(&decision)) start->share = gates_.share();
  }
  for (const JobId id : impossible_) decisions.list.push_back(Reject{id});
  decisions.wake_at = earlier(decisions.wake_at, index_.next_expiry());
  evict(view, decisions);
  return decisions;
}

}  // namespace berth
