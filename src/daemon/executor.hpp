// The executor of this machine: each attempt in a shim of its own, with its log and its cgroup.
//
// Belongs to the engine's thread.
#pragma once

#include <string>
#include <vector>

#include "daemon/clock.hpp"
#include "daemon/launcher.hpp"
#include "daemon/limits.hpp"
#include "daemon/machine.hpp"
#include "daemon/options.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

/// How a job ended, by its exit and the last words in its log.
live::Ending ending_of(const shim::Exit& exit, const std::string& note, const std::string& log,
                       const Clock& clock);

class ShimExecutor : public live::Executor {
 public:
  /// Requires: all of them outlive it.
  ShimExecutor(Launcher& launcher, Limits& limits, const live::Keeper& keeper,
               const Options& options, const Machine& machine)
      : launcher_(launcher),
        limits_(limits),
        keeper_(keeper),
        options_(options),
        machine_(machine) {}

  Expected<void> launch(const live::Assignment& assigned) override;
  live::Trace adopt(JobId job, Attempt attempt) override;
  void stop(JobId job, Attempt attempt, live::Manner manner) override {
    launcher_.stop(job, attempt, manner);
  }
  bool is_limited(JobId job) const override { return limits_.is_limited(job); }
  void forget(JobId job, Attempt attempt) override;
  std::vector<std::string> sweep(const live::StandingOf& standing_of, JobId last) override;

 private:
  Launcher& launcher_;
  Limits& limits_;
  const live::Keeper& keeper_;
  const Options& options_;
  const Machine& machine_;
};

}  // namespace berth::daemon
