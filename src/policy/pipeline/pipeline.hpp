// Order + Placer -> Policy: the pass that most policies share.
//
// A pass walks the lanes of waiting jobs in rank order and places what fits on a trial of the
// ledger. An ask refused for capacity rules out every larger one, and stays refused until there may
// be more room, so a pass costs O(lanes that may start + what changed), not O(queue).
#pragma once

#include <memory>
#include <vector>

#include "policy/kit/feasible.hpp"
#include "policy/pipeline/index.hpp"
#include "policy/pipeline/running_index.hpp"
#include "policy/policy.hpp"

namespace berth {

class Pipeline final : public Policy {
 public:
  /// Requires: not both Preemption::ByRank and HeadOfLine::Reserve or Block.
  Pipeline(std::unique_ptr<Order> order, std::unique_ptr<Placer> placer,
           const PipelineOptions& options);

  Decisions decide(const ClusterView& view, std::span<const Event> events) override;
  Snapshot save() const override { return order_->save(); }
  Expected<void> restore(const Snapshot& bytes) override;

 private:
  bool plans_changed(std::span<const Event> events) const;
  void refresh(const ClusterView& view, std::span<const Event> events);
  void refresh_running(const ClusterView& view, std::span<const Event> events);

  std::unique_ptr<Order> order_;
  std::unique_ptr<Placer> placer_;
  PipelineOptions options_;
  PendingIndex index_;
  RunningIndex running_;  ///< If it preempts.
  Feasibility feasibility_;
  std::vector<JobId> impossible_;   ///< Of this pass.
  Settings settings_;               ///< Of the view at the last pass: asks and ranks follow them.
  PreemptionBounds bounds_;         ///< Likewise: who is left alone.
  std::optional<Instant> revisit_;  ///< When time alone may let a refused job borrow.
  bool fresh_ = true;               ///< Nothing seen yet: look at everything.
  std::uint64_t room_version_ = 0;  ///< Of the view at the last pass.
};

}  // namespace berth
