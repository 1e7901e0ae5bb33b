// The time that starting and stopping cost a job. Pure functions of values.
#pragma once

#include <cstdint>

#include "core/base/time.hpp"
#include "core/knowledge/speeds.hpp"

namespace berth::sim {

struct Costs {
  Duration start{0};    ///< From a launch to the job's first step, every time.
  Duration restart{0};  ///< On top of that whenever it is not its first start: restoring.
  Duration stop{0};     ///< From the order to stop until its GPUs are free: saving.
  /// False: a stopped job is ended and requeued, and continues from its last checkpoint.
  bool can_suspend = true;
  Duration checkpoint = kForever;  ///< Work between checkpoints; kForever: there are none.

  bool are_none() const { return *this == Costs{}; }
  bool operator==(const Costs&) const = default;
};

enum class Start : std::uint8_t { First, Again };

/// Time with GPUs before a job makes progress; its model's own figures go before the general ones.
inline Duration overhead(const Costs& costs, const ModelFacts& facts, Start start) {
  const Duration restart = facts.restart.value_or(costs.restart);
  return facts.start.value_or(costs.start) + (start == Start::Again ? restart : Duration(0));
}

/// The work that a job keeps when it is ended: up to its last checkpoint.
constexpr Duration kept(const Costs& costs, Duration done) {
  return costs.checkpoint == kForever ? Duration(0) : done - done % costs.checkpoint;
}

}  // namespace berth::sim
