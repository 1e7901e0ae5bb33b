// The signal that a job asked for some time before its time limit ends it, so that it can save its
// work.
//
// The time is that of the engine, so a job that is suspended meanwhile gets it later. The shim
// passes it on once, whichever daemon asks. Belongs to the engine's thread.
#pragma once

#include <map>

#include "daemon/attempts/launcher.hpp"
#include "daemon/loop/clock.hpp"
#include "daemon/loop/loop.hpp"
#include "live/command.hpp"
#include "live/keeper.hpp"

namespace berth::daemon {

class LimitSignals {
 public:
  /// Requires: all of them outlive it.
  LimitSignals(Loop& loop, const live::Keeper& keeper, const Clock& clock, Launcher& launcher)
      : keeper_(keeper), clock_(clock), launcher_(launcher), alarm_(loop, [this] { look(); }) {}

  /// A job runs, or goes on.
  void on_began(const Job& job, const live::Command& command);

 private:
  void look();

  const live::Keeper& keeper_;
  const Clock& clock_;
  Launcher& launcher_;
  std::map<JobId, live::Warning> waiting_;
  Loop::Alarm alarm_;
};

}  // namespace berth::daemon
