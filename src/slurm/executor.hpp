// What the engine decided, told to Slurm: starts, stops, and the ends of jobs.
//
// A launch is one update: node, typed shards, release. What comes of an order shows in Slurm's
// records, which Reconciliation reports; an order that Slurm refuses is reported here. Belongs to
// the engine's thread.
#pragma once

#include <string>
#include <vector>

#include "live/ports.hpp"
#include "slurm/reconciliation.hpp"

namespace berth::slurm {

class SlurmExecutor : public live::Executor {
 public:
  /// Requires: both outlive it.
  SlurmExecutor(Common& common, Reconciliation& reconciliation)
      : common_(common), reconciliation_(reconciliation) {}

  Expected<void> launch(const live::Assignment& assigned) override;
  live::Trace adopt(JobId job, Attempt attempt) override {
    return reconciliation_.adopt(job, attempt);
  }
  void stop(JobId job, Attempt attempt, live::Manner manner) override;
  void forget(JobId job, Attempt attempt) override;
  std::vector<std::string> sweep(const live::StandingOf&, JobId) override { return {}; }

  /// A job that is over here is over there.
  void on_step(const live::StepTaken& step);

 private:
  bool is_narrowed_by(const Shards& kept, const Job& job) const;
  Expected<void> put_back(const live::Assignment& assigned, const std::string& why);

  Common& common_;
  Reconciliation& reconciliation_;
};

}  // namespace berth::slurm
