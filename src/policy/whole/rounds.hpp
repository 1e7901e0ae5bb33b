// Policies in rounds: time is divided into rounds, and a plan gives each job a part of the time on
// each type of GPU, as in Gavel (Narayanan et al., OSDI 2020).
//
// A policy of this kind is one allocator, which makes the plan. The rest is here: a round gives
// seats to jobs, alone or together, by time received over time owed, type after type; those that
// share GPUs have seats all or none; jobs keep their GPUs from round to round where they can; what
// one plan did not give counts under the next. A job that ends leaves its GPUs idle until the round
// ends.
//
// A plan that needs a solver is asked for when a round is over, which then goes on until the answer
// is there, but not for long: then a round by the last plan begins, in which jobs without a plan
// get what is left, and an answer that comes late counts from the round after it.
#pragma once

#include <memory>
#include <string_view>

#include "policy/allocate/allocator.hpp"
#include "policy/policy.hpp"

namespace berth {

struct RoundRules {
  Duration round;       ///< A round takes this long, or ends with the last of its jobs.
  Duration plan_lasts;  ///< Jobs that come or go change a plan that is this old, not before.
  enum class Types : std::uint8_t { Drawn, Listed };
  Types types = Types::Drawn;  ///< In which order a round fills them.
  /// Whether a job that is owed nothing of a type gets GPUs of it that nobody is owed.
  TimePlan::Unowed unowed = TimePlan::Unowed::Never;
  /// Whether a job that no plan was made for yet waits for one, or is as one that is owed nothing.
  enum class Newcomers : std::uint8_t { Wait, AreUnowed };
  Newcomers newcomers = Newcomers::Wait;
  /// Whether jobs share a GPU where the placement puts them together, or only those that the plan
  /// owes time together.
  enum class Sharing : std::uint8_t { AsPlaced, AsPlanned };
  Sharing sharing = Sharing::AsPlaced;

  /// How long a round may be late for an answer.
  Duration patience() const { return round / 10; }
};

/// A policy in rounds, over jobs in order of arrival; a job that fits no single type of GPU is
/// rejected. `name` is the name in errors. Cost: O(GPUs + types x jobs (log jobs + a placement))
/// per round, O(running) per event.
std::unique_ptr<Policy> in_rounds(std::string_view name, const RoundRules& rules,
                                  std::unique_ptr<Placer> placer,
                                  std::unique_ptr<Allocator> allocator);

}  // namespace berth
