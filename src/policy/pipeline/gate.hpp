// What a job may not take although it fits: the part of a policy that lets a job wait for a better
// place.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "core/trial.hpp"
#include "core/view.hpp"
#include "policy/kit/timeline.hpp"
#include "policy/policy.hpp"

namespace berth {

/// Jobs that are to leave their places, and when to ask again if nothing happens before.
struct Evicted {
  std::vector<JobId> jobs;
  Instant look_at = kNever;
};

/// Pure: no memory, and the same answer for the same arguments.
class Gate {
 public:
  virtual ~Gate() = default;

  /// How jobs are to share their GPUs (Grant::share).
  virtual ShareMode share() const { return ShareMode::TimeSlice; }
  /// What a job asks for under this gate. Requires: a larger ask stays the larger one.
  virtual Ask ask(Ask own) const { return own; }
  /// GPUs that the placement is to choose last for this job, in any order; `started` are the berths
  /// of this pass, which the view does not show yet.
  virtual std::vector<GpuId> avoided(JobId, const ClusterView&, std::span<const Fresh>) const {
    return {};
  }
  /// How much longer the job must wait before it may have this place; zero: it may have it now. The
  /// pipeline looks again when the time is over, or when there is more room. Requires: it never
  /// grows while the job waits and the cluster stays as it is.
  virtual Duration wait(const JobView&, const Placement&, const Trial&, const ClusterView&) const {
    return Duration::zero();
  }
  /// What the job waits for where wait() keeps it from this place.
  virtual GateWord word(const JobView&, const Placement&, const Trial&, const ClusterView&) const {
    return {};
  }
  /// True if, while a job waits for this gate, one that asks alike and is behind it may have a
  /// place at once only if it runs for a shorter time.
  virtual bool goes_by_run() const { return true; }
  /// True if these events may shorten what wait() said.
  virtual bool looks_again(const ClusterView&, std::span<const Event>) const { return false; }
  /// Running jobs that it does not leave where they are; they wait like jobs that were preempted.
  virtual Evicted evicted(const ClusterView&) const { return {}; }
};

/// All gates of a pipeline; a place must pass each.
struct Gates {
  std::vector<std::unique_ptr<const Gate>> list;

  Ask ask(Ask own) const {
    for (const auto& gate : list) own = gate->ask(own);
    return own;
  }
  ShareMode share() const {
    const bool by_mps =
        std::ranges::any_of(list, [](const auto& gate) { return gate->share() == ShareMode::Mps; });
    return by_mps ? ShareMode::Mps : ShareMode::TimeSlice;
  }
  bool go_by_run() const {
    return std::ranges::all_of(list, [](const auto& gate) { return gate->goes_by_run(); });
  }
};

}  // namespace berth
