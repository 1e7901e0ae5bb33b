// The daemon: the conductor (live/conductor.hpp) on one machine, with shims, the driver and a loop.
//
// One thread owns the engine. Everything else - requests, looks at GPUs, ends of jobs - comes to it
// through the loop's queue; what has come by the time the conductor has its turn is one step.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "daemon/answers/forecaster.hpp"
#include "daemon/answers/present.hpp"
#include "daemon/attempts/job_keys.hpp"
#include "daemon/attempts/launcher.hpp"
#include "daemon/attempts/logs.hpp"
#include "daemon/attempts/oom.hpp"
#include "daemon/attempts/reports.hpp"
#include "daemon/limits/device_files.hpp"
#include "daemon/limits/host_limits.hpp"
#include "daemon/limits/idle.hpp"
#include "daemon/limits/limit_follower.hpp"
#include "daemon/limits/limit_signals.hpp"
#include "daemon/limits/limits.hpp"
#include "daemon/limits/mps.hpp"
#include "daemon/limits/overuse.hpp"
#include "daemon/loop/alarms.hpp"
#include "daemon/loop/body_reader.hpp"
#include "daemon/loop/clock.hpp"
#include "daemon/loop/loop.hpp"
#include "daemon/loop/syncer.hpp"
#include "daemon/notices/announcer.hpp"
#include "daemon/notices/audit.hpp"
#include "daemon/notices/followers.hpp"
#include "daemon/settings/options.hpp"
#include "daemon/settings/retention.hpp"
#include "daemon/site/executor.hpp"
#include "daemon/site/faults.hpp"
#include "daemon/site/host.hpp"
#include "daemon/site/machine.hpp"
#include "daemon/site/probe.hpp"
#include "daemon/site/remote.hpp"
#include "http/server.hpp"
#include "live/conductor.hpp"
#include "live/user_totals.hpp"

namespace berth::daemon {

/// A user's request: taken with the next step, answered when that is durable.
struct Asked {
  std::optional<live::Submission> submission;
  std::vector<Input> inputs;
  std::shared_ptr<http::Exchange> exchange;
  /// The answer, made right after the step; none if the request goes on with another. The id is
  /// that of the submission, if there is one.
  std::function<std::optional<http::Response>(JobId)> answer;
  std::optional<JobId> left = {};   ///< A job that waits, whose client goes.
  std::string so_far = "";          ///< What steps before did for the same request; for an error.
  std::function<void()> fail = {};  ///< Once it is refused.
};

class Daemon {
 public:
  /// Opens everything and takes over jobs of an earlier daemon. Serves nothing yet. With `remote`
  /// jobs run there and not on this machine.
  static Expected<std::unique_ptr<Daemon>> open(Options options,
                                                std::unique_ptr<Remote> remote = nullptr);
  ~Daemon();

  /// Serves until stop(). Errors: the failure that ended it.
  Expected<void> run();
  /// From any thread and from signal handlers' threads: run() returns soon; jobs go on.
  void stop() { loop_.stop(); }
  /// Ends the threads that ask the driver; after run(). Returns: false if it holds one of them for
  /// longer than a second. Then nothing may be destroyed: the process must end as it is.
  bool leave_driver();

  /// Reads the configuration anew, for reload(). Before run().
  void set_reader(std::function<Expected<Options>()> read) { read_ = std::move(read); }
  /// From any thread: reload() on the loop's, with its outcome on standard error.
  void ask_reload();

  // For the API. The first two from any thread, the rest on the loop's.

  /// Carries out a request of this user when it is the user's turn.
  void on_turn_of(uid_t user, Task task) { loop_.ask(user, std::move(task)); }
  /// The same for what takes long: in slices, each as long as has_time().
  void in_slices_for(uid_t user, Slices slices) { loop_.ask_long(user, std::move(slices)); }
  bool has_time() const { return loop_.has_time(); }
  /// Reads a large body of this user, beside the requests of others. From any thread.
  void read_body_for(uid_t user, std::function<void()> work) {
    bodies_.read_for(user, std::move(work));
  }
  const Loop::Turns& turns() const { return loop_.turns(); }
  void ask(Asked asked);
  /// What the configuration says now is in force from the next step on, as far as that can be
  /// without a new start. Errors: as read_config(); then nothing is changed.
  struct Reloaded {
    std::vector<Input> inputs;
    std::vector<std::string> at_next_start;  ///< Keys.
    std::vector<std::string> warnings;
  };
  Expected<Reloaded> reload();
  /// What keeps a GPU from berthd, the configuration or its environment; "" if nothing does.
  std::string not_given_by(GpuId gpu) const;
  /// The same, for a person who asks for such a GPU.
  std::string why_not_ours(GpuId gpu) const;
  const GivenGpus& given() const { return given_; }
  /// `request: asks 4 GPUs, ...` of one that the GPUs that berthd was given can never meet.
  std::optional<std::string> why_not_given(const GpuRequest& asked) const;
  void take(std::vector<Input> inputs);
  Presenter& presenter() { return *presenter_; }
  const live::Keeper& keeper() const { return keeper_; }
  /// Keeper's note().
  void note(JobId job, std::string text) { keeper_.note(job, std::move(text)); }
  void note_for_good(JobId job, std::string text) { keeper_.note_for_good(job, std::move(text)); }
  const Machine& machine() const { return machine_; }
  const Options& options() const { return options_; }
  CpuMilli default_cpu() const { return default_cpu_; }  // from any thread
  Logs& logs() { return *logs_; }
  const Limits& limits() const { return *limits_; }
  Audit& audit() { return audit_; }  // from any thread
  const Retention& retention() const { return *retention_; }
  const HostLimits& host_limits() const { return *host_limits_; }
  const DeviceRules& device_rules() const { return *device_rules_; }
  const live::Watcher& watcher() const { return conductor_->watcher(); }
  const Mps& mps() const { return *mps_; }
  const Announcer& announcer() const { return *announcer_; }
  Forecaster& forecaster() { return forecaster_; }
  Followers& followers() { return *followers_; }
  /// As Keeper::store_part().
  Expected<bool> store_part(live::Submission& submission) { return keeper_.store_part(submission); }
  live::UserTotals& user_totals() { return user_totals_; }
  Instant now() const { return clock_.now(); }
  /// Errors: as Launcher::attach(). Requires: no remote.
  Expected<void> attach(JobId job, Attempt attempt, const shim::Attach& client) {
    return launcher_->attach(job, attempt, client);
  }
  /// Requires: no remote.
  const Suspender& suspender() const { return executor_->suspender(); }
  /// Null where jobs run on this machine.
  Remote* remote() const { return remote_.get(); }
  /// The job's log; "" where there is a remote, whose nodes have it.
  std::string log_path(JobId job) const;

 private:
  Daemon(const Options& options, Machine machine, std::unique_ptr<Host> host, live::Keeper keeper,
         std::unique_ptr<Remote> remote);
  Expected<void> open_logs();
  Expected<void> open_launcher();
  void open_executor();
  Expected<void> open_reports();
  void open_driver();
  void on_sighting(Sighting seen);
  bool is_partly_outside(JobId job) const;
  Witness witness_of(JobId job) const;
  void open_syncer();
  void open_conductor();
  SuspenderHooks suspender_hooks();
  void turn();
  void on_alarm(live::Alarm alarm);
  std::vector<Input> exclusions() const;
  void open_idle_watch();
  void note_idle_in_past(JobId job);
  void open_overuse_watch();
  std::string energy_path() const { return options_.state + "/energy"; }
  std::vector<std::string> gpu_names() const;
  void restore_energy();
  void save_energy();
  std::string idle_path() const { return options_.state + "/idle"; }
  Expected<void> sync();

  Options options_;
  std::atomic<CpuMilli> default_cpu_;  ///< A reload changes it while bodies are read.
  std::function<Expected<Options>()> read_;
  Machine machine_;
  GivenGpus given_;  ///< All, where there is a remote.
  std::unique_ptr<Host> host_;
  live::Keeper keeper_;
  Clock clock_;
  Audit audit_;  ///< Outlives requests that the loop still has at the end: it writes them down.
  Loop loop_;
  Alarms alarms_;
  Forecaster forecaster_{options_.rules.policy, options_.rules.place};
  live::UserTotals user_totals_{{.jobs = options_.user_queue, .bytes = options_.user_environments}};
  std::unique_ptr<live::Conductor> conductor_;
  std::unique_ptr<Presenter> presenter_;
  std::unique_ptr<Limits> limits_;
  std::unique_ptr<HostLimits> host_limits_;
  std::unique_ptr<DeviceRules> device_rules_;
  std::unique_ptr<Mps> mps_;
  std::optional<JobKeys> keys_;  ///< None with a remote.
  std::unique_ptr<Followers> followers_;
  std::unique_ptr<LimitSignals> limit_signals_;
  std::unique_ptr<Announcer> announcer_;
  std::unique_ptr<LimitFollower> limit_follower_;
  std::unique_ptr<ShimExecutor> executor_;  ///< Null with a remote.
  std::unique_ptr<RemoteFollower> remote_follower_;

  // What reports to the conductor, and so ends before it.
  std::unique_ptr<Remote> remote_;      ///< Null where jobs run on this machine.
  std::unique_ptr<Launcher> launcher_;  ///< Null with a remote, as are the reports.
  std::unique_ptr<Logs> logs_;
  std::unique_ptr<Reports> reports_;
  std::unique_ptr<Probe> probe_;  ///< Null on a machine without GPUs.
  std::unique_ptr<Syncer> syncer_;
  OomWords oom_words_;
  std::unique_ptr<IdleWatch> idle_;
  std::unique_ptr<OveruseWatch> overuse_;
  /// Jobs with processes that are in no job's tree, by the latest look.
  std::map<GpuId, std::set<JobId>> partly_outside_;
  Instant energy_saved_;
  std::map<JobId, std::string> suspended_for_;  ///< Jobs that berthd suspends by a rule, and why.
  std::unique_ptr<Retention> retention_;
  std::unique_ptr<Faults> faults_;
  BodyReader bodies_;  ///< Ends first: what it reads goes on to all the rest.
};

}  // namespace berth::daemon
