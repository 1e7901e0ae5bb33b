// Whether a job could ever be placed: on the empty cluster with all GPUs and nodes healthy.
#pragma once

#include <optional>

#include "core/view.hpp"
#include "policy/policy.hpp"

namespace berth {

class Feasibility {
 public:
  /// True if `placer` finds a place for the job on the empty cluster. Cost: one placement, and
  /// O(GPUs) at the first call and after a change of admission.
  bool allows(const JobView& job, const ClusterView& view, const Placer& placer) {
    if (!empty_ || empty_->use.admission() != view.settings().admission) {
      empty_.emplace(Occupancy(view.cluster(), view.settings().admission));
    }
    const Trial trial(view.cluster(), *empty_);
    return placer.place(ask_of(job), job.id(), trial).has_value();
  }

 private:
  std::optional<Scratch> empty_;
};

}  // namespace berth
