// How much of a job is left to do, for policies that read it.
#pragma once

#include <algorithm>

#include "policy/whole/time_plan.hpp"

namespace berth {

/// At full speed, of a job that has done so much; above zero. A job without an estimate, or past
/// it, is taken to be half done: run times have long tails.
inline Duration work_left(const JobView& job, Duration worked) {
  constexpr Duration kLeast = seconds(1);
  const Duration whole = job.estimate();
  const bool is_known = whole != kForever && whole > worked;
  return std::max(kLeast, is_known ? whole - worked : worked);
}
inline Duration work_left(const JobView& job, const TimePlan& plan) {
  return work_left(job, plan.knows(job.id()) ? plan.worked(job.id()) : Duration::zero());
}

}  // namespace berth
