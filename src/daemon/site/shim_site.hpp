// The site of this machine: jobs in shims, GPUs behind its driver.
//
// What shims, the driver and reports of jobs tell goes from here to the conductor. An end is told
// with what is known of its cause; a job that is idle is told of, suspended or ended as the
// configuration says. Belongs to the engine's thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/attempts/job_keys.hpp"
#include "daemon/attempts/launcher.hpp"
#include "daemon/attempts/oom.hpp"
#include "daemon/attempts/reports.hpp"
#include "daemon/limits/device_files.hpp"
#include "daemon/limits/host_limits.hpp"
#include "daemon/limits/idle.hpp"
#include "daemon/limits/limit_signals.hpp"
#include "daemon/limits/limits.hpp"
#include "daemon/limits/mps.hpp"
#include "daemon/loop/json_text.hpp"
#include "daemon/machine/executor.hpp"
#include "daemon/machine/faults.hpp"
#include "daemon/machine/probe.hpp"
#include "daemon/site/site.hpp"

namespace berth::daemon {

class ShimSite : public Site {
 public:
  /// Finds the folder of jobs' cgroups, and makes it. What was asked for must be had; where nothing
  /// is said, why there is none is a warning. Errors: InvalidArgument.
  static Expected<void> find_cgroup(Options& options);

  Expected<Machine> machine(const Options& options) override;
  void plan_change(live::Opening& opening, const Machine& machine) const override;
  /// Where jobs live that a start before began, or wait for what is gone, it is as it was.
  void settle_machine(Machine& machine, const live::Keeper& keeper) override;
  /// Errors: as JobKeys::open(), Launcher::open() and Reports::open().
  Expected<Attached> attach(const Surroundings& around) override;
  void begin(live::Conductor& conductor) override;

  /// So that limits make way for who starts.
  void on_step(const live::StepTaken& step) override;
  void on_began(const Job& job, const live::Command& command) override;
  void on_probe() override { reports_->come_back(); }
  void on_reload() override;
  bool leave() override;

  Expected<void> attend(JobId job, Attempt attempt, const shim::Attach& client) override {
    return launcher_->attach(job, attempt, client);
  }
  Owner owner_of(pid_t pid) const override;
  std::string why_no_mps() const override { return mps_->why_not(); }
  Enforcers enforcers() const override;
  Json examine(const Daemon& daemon) const override;  // doctor.cpp

  // For examine(). Require: attach().
  const Limits& limits() const { return *limits_; }
  const HostLimits& host_limits() const { return *host_limits_; }
  const DeviceRules& device_rules() const { return *device_rules_; }
  const Suspender& suspender() const { return executor_->suspender(); }

 private:
  ClusterView view() const { return around_->keeper.engine().view(); }
  Instant now() const { return around_->clock.now(); }
  void note(JobId job, std::string text) { around_->keeper.note(job, std::move(text)); }
  Expected<void> open_launcher();
  Expected<void> open_reports();
  void open_driver();
  void open_executor();
  void open_idle_watch();
  SuspenderHooks suspender_hooks();
  void on_ended(JobId job, Attempt attempt, const shim::Exit& exit, const std::string& note);
  void on_sighting(Sighting seen);
  bool is_partly_outside(JobId job) const;
  Witness witness_of(JobId job) const;
  void note_idle_in_past(JobId job);
  void suspend_idle(JobId job, const Idleness& idle);
  void end_idle(JobId job, const Idleness& idle);
  std::string idle_path() const { return around_->options.state + "/idle"; }

  std::string gpus_path_;
  std::optional<std::vector<Device>> known_;  ///< The GPUs of the start before.
  std::optional<Surroundings> around_;
  live::Conductor* conductor_ = nullptr;
  std::unique_ptr<Limits> limits_;
  std::unique_ptr<HostLimits> host_limits_;
  std::unique_ptr<DeviceRules> device_rules_;
  std::unique_ptr<Mps> mps_;
  std::optional<JobKeys> keys_;
  std::unique_ptr<LimitSignals> limit_signals_;
  std::unique_ptr<ShimExecutor> executor_;

  // What reports to the conductor or to the above, and so ends first.
  std::unique_ptr<Launcher> launcher_;
  std::unique_ptr<Reports> reports_;
  std::unique_ptr<Probe> probe_;  ///< Null on a machine without GPUs, as is `faults_`.
  OomWords oom_words_;
  std::unique_ptr<IdleWatch> idle_;
  /// Jobs with processes that are in no job's tree, by the latest look.
  std::map<GpuId, std::set<JobId>> partly_outside_;
  std::map<JobId, std::string> suspended_for_;  ///< Jobs that berthd suspends by a rule, and why.
  std::unique_ptr<Faults> faults_;
};

}  // namespace berth::daemon
