// Hears of steps before their effects are performed, so that limits make way for who starts.
#pragma once

#include <algorithm>
#include <variant>

#include "daemon/limits/limits.hpp"
#include "live/keeper.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

class LimitFollower : public live::Audience {
 public:
  /// Requires: all of them outlive it.
  LimitFollower(const live::Keeper& keeper, Limits& limits, live::Audience& others)
      : keeper_(keeper), limits_(limits), others_(others) {}

  void on_step(const live::StepTaken& step) override {
    const bool moves_charges = std::ranges::any_of(step.inputs, [](const Input& input) {
      return std::holds_alternative<Measured>(input) || std::holds_alternative<Released>(input) ||
             std::holds_alternative<Shrunk>(input);
    });
    if (moves_charges || !step.effects.list.empty()) limits_.follow(keeper_.engine().view());
    others_.on_step(step);
  }
  void on_changed(const std::vector<JobId>& jobs) override { others_.on_changed(jobs); }

 private:
  const live::Keeper& keeper_;
  Limits& limits_;
  live::Audience& others_;
};

}  // namespace berth::daemon
