// Order + Backfill + Gates + Placer -> Policy: the pass that most policies share.
//
// Keeps the waiting jobs in rank order from pass to pass and hands them to the backfill, which
// walks them (walk.hpp). An ask refused for capacity rules out every larger one, and stays refused
// until there may be more room, so a pass costs O(lanes that may start + what changed), not
// O(queue).
#pragma once

#include <memory>
#include <vector>

#include "policy/kit/feasible.hpp"
#include "policy/pipeline/gate.hpp"
#include "policy/pipeline/index.hpp"
#include "policy/policy.hpp"

namespace berth {

class Backfill;

class Pipeline final : public Policy {
 public:
  /// With the order's own gates beside these.
  Pipeline(std::unique_ptr<Order> order, std::unique_ptr<Placer> placer,
           std::unique_ptr<Backfill> backfill, const PipelineOptions& options, Gates gates = {});
  ~Pipeline() override;

  Decisions decide(const ClusterView& view, std::span<const Event> events) override;
  std::optional<Refused> refused(JobId job, const ClusterView&) const override;
  Duration class_bound(DurationClass of) const override { return bound_of(of, options_.classes); }
  Snapshot save() const override;
  Expected<void> restore(const Snapshot& bytes) override;

 private:
  void refresh(const ClusterView& view, std::span<const Event> events);
  void update(JobId id, const ClusterView& view);
  bool keep_their_ranks();
  void evict(const ClusterView& view, Decisions& decisions) const;

  std::unique_ptr<Order> order_;
  std::unique_ptr<Placer> placer_;
  PipelineOptions options_;
  Gates gates_;
  std::unique_ptr<Backfill> backfill_;
  PendingIndex index_;
  Feasibility feasibility_;
  std::vector<JobId> impossible_;  ///< Of this pass.
  Instant look_again_ = kNever;    ///< Walk::look_again() of the passes so far.
  Settings settings_;              ///< Of the view at the last pass: asks and ranks follow them.
  PreemptionBounds bounds_;        ///< Likewise: the jobs that are left alone.
  bool fresh_ = true;              ///< Nothing seen yet: look at everything.
  bool expired_ = false;           ///< In this pass the time of a rank was over.
  bool is_quiet_ = false;          ///< PassContext::is_quiet of this pass.
  std::optional<std::uint64_t> lanes_version_;  ///< Of the order at the last pass.
  std::uint64_t room_version_ = 0;              ///< Of the view at the last pass.
};

}  // namespace berth
