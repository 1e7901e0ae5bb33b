#include "policy/pipeline.hpp"

#include <algorithm>

#include "core/assert.hpp"
#include "policy/pass.hpp"

namespace berth {

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
  const PendingIndex::Shape shape{
      .by_user = order_->depends_on() == DependsOn::Group || view.settings().limits.any(),
      .by_plan = options_.no_fit == HeadOfLine::Reserve};
  impossible_.clear();
  const auto update = [&](JobId id) {
    Lane* const lane = index_.update(id, view, *order_);
    if (lane == nullptr) return;
    if (!lane->possible) lane->possible = feasibility_.allows(view.job(id), view, *placer_);
    if (*lane->possible) return;
    index_.erase(id);
    impossible_.push_back(id);
  };
  const bool other_rules = admission_ != view.settings().admission;
  admission_ = view.settings().admission;
  if (fresh_ || options_.rebuild || other_rules || shape.by_user != index_.shape().by_user) {
    index_.clear(shape);
    view.for_each_pending([&](const JobView& job) { update(job.id()); });
    fresh_ = false;
  } else {
    for (const Event& event : events) update(event.job);
    if (order_->depends_on() == DependsOn::Cluster) index_.rerank_all(view, *order_);
  }
  index_.expire(view, *order_);
  const bool may_differ = options_.preemption == Preemption::ByRank ||
                          view.settings().limits.any() || plans_changed(events);
  if (view.room_version() != room_version_ || may_differ) index_.reopen();
  room_version_ = view.room_version();
}

/// With places kept, whoever ends, or plans to end otherwise, may let others in before any release.
bool Pipeline::plans_changed(std::span<const Event> events) const {
  if (options_.no_fit != HeadOfLine::Reserve) return false;
  return std::ranges::any_of(events, [](const Event& event) {
    return event.kind != EventKind::Submitted && event.kind != EventKind::Granted;
  });
}

Decisions Pipeline::decide(const ClusterView& view, std::span<const Event> events) {
  order_->prepare(view, events);
  refresh(view, events);
  Decisions decisions;
  if (!index_.empty() || !view.holds().empty()) {
    Pass pass(view, *order_, *placer_, options_);
    pass.run(index_);
    decisions = pass.take();
  }
  for (const JobId id : impossible_) decisions.list.push_back(Reject{id});
  if (const auto expiry = index_.next_expiry()) {
    decisions.wake_at = std::min(decisions.wake_at.value_or(kNever), *expiry);
  }
  return decisions;
}

}  // namespace berth
