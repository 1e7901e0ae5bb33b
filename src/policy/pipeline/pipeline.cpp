#include "policy/pipeline/pipeline.hpp"

#include <algorithm>
#include <iterator>

#include "core/assert.hpp"
#include "policy/pipeline/pass.hpp"

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
                   const PipelineOptions& options)
    : order_(std::move(order)), placer_(std::move(placer)), options_(options) {
  BERTH_ASSERT(options.preemption == Preemption::Never || options.no_fit == HeadOfLine::Skip);
}

Expected<void> Pipeline::restore(const Snapshot& bytes) {
  fresh_ = true;
  return order_->restore(bytes);
}

void Pipeline::refresh(const ClusterView& view, std::span<const Event> events) {
  const PendingIndex::Shape shape{.by_user = order_->depends_on() == DependsOn::Group ||
                                             order_->depends_on() == DependsOn::Lane ||
                                             view.settings().limits.any(),
                                  .by_plan = options_.no_fit == HeadOfLine::Reserve,
                                  .plans = options_.plans};
  impossible_.clear();
  const auto update = [&](JobId id) {
    Lane* const lane = index_.update(id, view, *order_);
    if (lane == nullptr) return;
    if (!lane->possible) lane->possible = feasibility_.allows(view.job(id), view, *placer_);
    if (*lane->possible) return;
    index_.erase(id);
    const bool is_new = std::ranges::find(impossible_, id) == impossible_.end();
    if (is_new) impossible_.push_back(id);  // several events may name it
  };
  const bool other_rules = settings_ != view.settings() || bounds_ != view.preemption_bounds();
  settings_ = view.settings();
  bounds_ = view.preemption_bounds();
  if (fresh_ || options_.rebuild || other_rules || shape.by_user != index_.shape().by_user) {
    index_.clear(shape);
    view.for_each_pending([&](const JobView& job) { update(job.id()); });
    fresh_ = true;  // whoever runs is looked at afresh too
  } else {
    for (const Event& event : events) update(event.job);
    if (order_->depends_on() == DependsOn::Cluster) index_.rerank_all(view, *order_);
  }
  if (options_.preemption == Preemption::ByRank) refresh_running(view, events);
  fresh_ = false;
  const bool expired = index_.expire(view, *order_);
  const bool its_time = expired || (revisit_ && *revisit_ <= view.now());
  const bool may_differ = options_.preemption == Preemption::ByRank ||
                          view.settings().limits.any() || plans_changed(events) || its_time;
  if (view.room_version() != room_version_ || may_differ) index_.reopen();
  room_version_ = view.room_version();
}

void Pipeline::refresh_running(const ClusterView& view, std::span<const Event> events) {
  if (fresh_ || running_.quantum() != options_.quantum) {
    running_.clear(options_.quantum);
    for (const JobId id : view.running()) running_.update(id, view, *order_);
  } else {
    for (const Event& event : events) running_.update(event.job, view, *order_);
  }
  running_.expire(view, *order_);
}

/// With places kept, whoever ends, or plans to end otherwise, may let others in before any release.
bool Pipeline::plans_changed(std::span<const Event> events) const {
  if (options_.no_fit != HeadOfLine::Reserve) return false;
  return std::ranges::any_of(events, [](const Event& event) {
    return event.kind != EventKind::Submitted && event.kind != EventKind::Granted;
  });
}

Decisions Pipeline::decide(const ClusterView& view, std::span<const Event> events) {
  order_->configure(options_, view.settings());
  placer_->prepare(view, events);
  Decisions decisions = order_->prepare(view, events);
  refresh(view, events);
  revisit_.reset();
  if (!index_.empty() || !view.holds().empty()) {
    Pass pass(view, *order_, *placer_, options_);
    pass.run(index_, running_);
    append(pass.take(), decisions);
    revisit_ = pass.revisit();
  }
  decisions.wake_at = earlier(decisions.wake_at, revisit_);
  for (const JobId id : impossible_) decisions.list.push_back(Reject{id});
  decisions.wake_at = earlier(decisions.wake_at, index_.next_expiry());
  return decisions;
}

}  // namespace berth
