// Whether a job could ever be placed: on the empty cluster with all GPUs and nodes healthy.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "core/view.hpp"
#include "policy/policy.hpp"

namespace berth {

class Feasibility {
 public:
  /// True if `placer` finds a place for the job on the empty cluster. Cost: one placement for each
  /// kind of ask, and O(GPUs) at the first call and after a change of admission.
  bool allows(const JobView& job, const ClusterView& view, const Placer& placer) {
    if (!empty_ || empty_->use.admission() != view.settings().admission) {
      empty_.emplace(Occupancy(view.cluster(), view.settings().admission));
      known_.clear();
    }
    Ask kind = ask_of(job);
    kind.planned = kForever;  // no placer reads it, and nearly each job has another
    if (known_.size() > kMost) known_.clear();
    const auto [found, is_new] = known_.try_emplace(std::move(kind), false);
    if (is_new) {
      const Trial trial(view.cluster(), *empty_);
      found->second = placer.place(found->first, job.id(), trial).has_value();
    }
    return found->second;
  }

 private:
  static constexpr std::size_t kMost = 4096;

  std::optional<Scratch> empty_;
  std::map<Ask, bool> known_;  ///< Dropped when there are many: most are of jobs that are gone.
};

}  // namespace berth
