// Places for one job after another on a trial that only fills up.
#pragma once

#include <optional>
#include <set>
#include <utility>

#include "policy/policy.hpp"

namespace berth {

/// An ask that had no place has none later, so the placer is asked but once for each kind of job:
/// thousands of waiting jobs ask for a few dozen kinds of places. Requires: nothing is taken off
/// the trial meanwhile, and both outlive this.
class Filler {
 public:
  Filler(const Placer& placer, const Trial& trial) : placer_(placer), trial_(trial) {}

  std::optional<Placement> place(const Ask& ask, JobId job) {
    Ask kind = ask;
    kind.planned = kForever;  // no placer reads it, and nearly each job has another
    if (refused_.contains(kind)) return std::nullopt;
    Placed placed = placer_.place(ask, job, trial_);
    if (placed) return std::move(*placed);
    if (!trial_.has_holds()) refused_.insert(std::move(kind));  // a job may use what is kept for it
    return std::nullopt;
  }

 private:
  const Placer& placer_;
  const Trial& trial_;
  std::set<Ask> refused_;
};

}  // namespace berth
