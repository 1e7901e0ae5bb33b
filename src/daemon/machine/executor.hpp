// The executor of this machine: each attempt in a shim of its own, with its log and its cgroup.
//
// Belongs to the engine's thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/attempts/job_keys.hpp"
#include "daemon/attempts/launcher.hpp"
#include "daemon/limits/device_files.hpp"
#include "daemon/limits/host_limits.hpp"
#include "daemon/limits/limits.hpp"
#include "daemon/limits/mps.hpp"
#include "daemon/loop/clock.hpp"
#include "daemon/machine/machine.hpp"
#include "daemon/settings/options.hpp"
#include "daemon/suspend/suspender.hpp"
#include "live/ports.hpp"
#include "shim/order.hpp"

namespace berth::daemon {

/// How a job ended.
live::Ending ending_of(const shim::Exit& exit, Outcome outcome, const std::string& note,
                       const Clock& clock);

class ShimExecutor : public live::Executor {
 public:
  struct Parts {
    Loop& loop;
    Launcher& launcher;
    Limits& limits;
    const HostLimits& host_limits;
    const DeviceRules& device_rules;
    Mps& mps;
    const live::Keeper& keeper;
    const Options& options;
    const Machine& machine;
    const JobKeys& keys;
    /// Nothing of an attempt runs, as was found after launch() had returned.
    std::function<void(JobId, Attempt, const std::string& why)> not_started;
    /// True if processes that are in no job's tree hold GPU memory for it.
    std::function<bool(JobId)> is_partly_outside;
  };
  /// Requires: all of them outlive it. What suspensions come to is reported through `hooks`.
  ShimExecutor(Parts parts, SuspenderHooks hooks);

  Expected<void> launch(const live::Assignment& assigned) override;
  live::Trace adopt(JobId job, Attempt attempt) override;
  /// By the driver, or by the walls of MIG instances.
  bool is_limited(JobId job) const override;
  void go_on(JobId job, Attempt attempt, const Grant& grant) override;
  void stop(JobId job, Attempt attempt, live::Manner manner) override;
  void forget(JobId job, Attempt attempt) override;
  std::vector<std::string> sweep(const live::StandingOf& standing_of, JobId last) override;

  /// Of what the launcher tells. Returns: whether the start is news: a suspended attempt that is
  /// adopted is there, and does not run.
  bool on_started(JobId job, Attempt attempt);
  /// Returns: why berthd ended it, where it was a suspension that could not be undone; else "".
  std::string on_ended(JobId job);

  const Suspender& suspender() const { return suspender_; }

 private:
  using Key = std::pair<JobId, Attempt>;
  Launcher& launcher() { return parts_.launcher; }
  ClusterView view() const { return parts_.keeper.engine().view(); }
  void limit(JobId job, Attempt attempt);
  bool limit_host(const live::Assignment& assigned, const std::string& group) const;
  void limit_memory_again(JobId job, Attempt attempt) const;
  void limit_devices(JobId job, const std::string& group, const Grant& grant) const;
  bool has_instances(const Grant& grant) const;
  bool wants_mps(const live::Assignment& assigned);
  MpsClient mps_client(const live::Assignment& assigned, const shim::Order& order) const;
  void launch_as_client(const MpsClient& client, shim::Order order);
  void on_server(const Key& key, const Expected<Variables>& joined);
  SuspenderHooks with_own(SuspenderHooks hooks);
  void suspend(JobId job, Attempt attempt);
  SuspendTarget target_of(JobId job, Attempt attempt, const Grant& grant) const;

  const Parts parts_;
  const SuspenderHooks hooks_;
  Suspender suspender_;
  std::map<Key, shim::Order> wait_for_server_;         ///< Of MPS; nothing of them runs.
  std::set<std::pair<JobId, Attempt>> suspends_then_;  ///< Once their processes are there.
  std::map<JobId, std::string> broken_;                ///< Being ended, and why.
  bool told_no_mps_ = false;
};

}  // namespace berth::daemon
