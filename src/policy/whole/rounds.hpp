// Policies in rounds: time is divided into rounds, and a plan gives each job a part of the time on
// each type of GPU, as in Gavel (Narayanan et al., OSDI 2020).
//
// A policy of this kind is one function, which makes the plan. The rest is here: a round gives
// seats to jobs by time received over time owed, type after type in an order drawn for the round;
// jobs keep their GPUs from round to round where they can; what one plan did not give counts under
// the next. A job that ends leaves its GPUs idle until the round ends.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/view.hpp"
#include "policy/policy.hpp"
#include "policy/whole/time_plan.hpp"

namespace berth {

/// The share of the time that each of these jobs is owed on each type of GPU of the cluster. Must
/// be a function of the view alone. Jobs without GPUs are in every round and need no share of any
/// type.
using Allocate = std::function<std::vector<std::vector<TimeShare>>(const ClusterView& view,
                                                                   std::span<const JobId> jobs)>;

struct RoundTimes {
  Duration round;       ///< A round takes this long, or ends with the last of its jobs.
  Duration plan_lasts;  ///< Jobs that come or go change a plan that is this old, not before.
};

/// A policy in rounds, over jobs in order of arrival; a job that fits no single type of GPU is
/// rejected. `name` is the name in errors. Cost: O(GPUs + types x jobs (log jobs + a placement))
/// per round, O(running) per event.
std::unique_ptr<Policy> in_rounds(std::string_view name, const RoundTimes& times,
                                  std::unique_ptr<Placer> placer, Allocate allocate);

}  // namespace berth
