// What happens behind a job that does not fit: the part of a policy that says which jobs may pass.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "policy/pipeline/walk.hpp"
#include "policy/policy.hpp"

namespace berth {

class Backfill {
 public:
  virtual ~Backfill() = default;

  /// True if jobs of one lane must have the same enforced run time to come.
  virtual bool by_plan() const { return false; }
  /// True if it calls Walk::pass_on_within().
  virtual bool by_run() const { return false; }
  /// True if a lane that was closed may have a place now though there is no more room: these events
  /// say so. For what time says there is Walk::look_again().
  virtual bool looks_again(const ClusterView&, std::span<const Event>) const { return false; }

  /// One pass: starts jobs, keeps places, and says when it must be asked again.
  virtual void run(Walk& walk) = 0;

  /// Why this job waits, if that is not what was said of its lane (Walk::note()).
  virtual std::optional<Refusal> refusal(JobId) const { return std::nullopt; }

  virtual Snapshot save() const { return {}; }
  /// Also called to forget everything, with an empty memory.
  virtual Expected<void> restore(const Snapshot&) { return {}; }
};

}  // namespace berth
