// The daemon: brings inputs to the engine and performs its effects.
//
// One thread owns the engine. Everything else - requests, looks at GPUs, ends of jobs - comes to it
// through the loop's queue; what has come by the time it looks is one step. Before a step that
// could start a job it waits for a fresh look at the GPUs; after the step it performs the effects,
// and answers as soon as the journal is on the disk.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "daemon/clock.hpp"
#include "daemon/faults.hpp"
#include "daemon/forecaster.hpp"
#include "daemon/hints.hpp"
#include "daemon/host.hpp"
#include "daemon/launcher.hpp"
#include "daemon/logs.hpp"
#include "daemon/loop.hpp"
#include "daemon/machine.hpp"
#include "daemon/options.hpp"
#include "daemon/present.hpp"
#include "daemon/probe.hpp"
#include "daemon/reports.hpp"
#include "daemon/syncer.hpp"
#include "http/server.hpp"
#include "live/failed_starts.hpp"
#include "live/keeper.hpp"
#include "live/user_queues.hpp"
#include "live/watcher.hpp"

namespace berth::daemon {

/// What a user asked for: taken in with the next step, answered when that is durable.
struct Asked {
  std::optional<live::Submission> submission;
  std::vector<Input> inputs;
  std::shared_ptr<http::Exchange> exchange;
  /// The answer, made right after the step; none if the request goes on with another. The id is
  /// that of the submission, if there is one.
  std::function<std::optional<http::Response>(JobId)> answer;
  std::string so_far = "";  ///< What steps before did for the same request; for an error.
};

class Daemon {
 public:
  /// Opens everything, takes over what a daemon before left running. Serves nothing yet.
  static Expected<std::unique_ptr<Daemon>> open(const Options& options);
  ~Daemon();

  /// Serves until stop(). Errors: what made it end by itself.
  Expected<void> run();
  /// From any thread and from signal handlers' threads: run() returns soon; jobs go on.
  void stop() { loop_.stop(); }
  /// Ends the threads that ask the driver; after run(). Returns: false if it holds one of them for
  /// longer than a second. Then nothing may be destroyed: the process must end as it is.
  bool leave_driver();

  // For the API. The first two from any thread, the rest on the loop's.

  /// Does what this user asks when it is their turn.
  void on_turn_of(uid_t user, Task task) { loop_.ask(user, std::move(task)); }
  /// The same for what takes long: in slices, each as long as has_time().
  void in_slices_for(uid_t user, Slices slices) { loop_.ask_long(user, std::move(slices)); }
  bool has_time() const { return loop_.has_time(); }
  void ask(Asked asked);
  Presenter& presenter() { return presenter_; }
  const live::Keeper& keeper() const { return *keeper_; }
  const Machine& machine() const { return machine_; }
  const Options& options() const { return options_; }
  Logs& logs() { return *logs_; }
  Forecaster& forecaster() { return forecaster_; }
  live::UserQueues& user_queues() { return user_queues_; }
  Instant now() const { return clock_.now(); }
  std::string log_path(JobId job) const { return launcher_->log_path(job); }
  std::string log_name(JobId job) const;
  /// Server-sent events of this job, or of all; from now on.
  void follow(std::shared_ptr<http::Stream> stream, std::optional<JobId> job);

 private:
  struct Follower {
    std::shared_ptr<http::Stream> stream;
    std::optional<JobId> job;
  };

  Daemon(const Options& options, Machine machine, std::unique_ptr<Host> host, live::Keeper keeper);
  Expected<void> open_rest();
  void recover();
  void recover(const Job& job);
  live::Standing standing_of(JobId job, Attempt attempt) const;

  // What comes in.
  void on_started(JobId job, Attempt attempt);
  void on_failed(JobId job, Attempt attempt);
  void on_ended(JobId job, Attempt attempt, const shim::Exit& exit, const std::string& note);
  void on_over(const AttemptEnded& ended);
  void on_lost(JobId job, Attempt attempt, const std::string& why);
  void on_failed_start(JobId job, Attempt attempt, const std::string& why);
  void start_again();
  void on_look(live::Look look);
  void on_silence();
  void on_probe();
  void on_fault(const GpuEvent& event);

  // A step.
  void turn();
  bool wait_for_look();
  bool could_start() const;
  void look_at(const std::set<GpuId>& gpus);
  std::vector<Asked> take_asked();
  void step();
  void work_on_snapshot();
  void refuse_without_room();
  void fail_with(const Error& error);
  void refuse_all(std::vector<Asked> asked, const Error& error);
  void answer_all(std::vector<Asked> asked, const std::vector<JobId>& submitted);
  void publish(const std::vector<JobId>& touched);

  // Effects.
  void perform(const Effect& effect);
  void stop(const Stop& wanted);
  void launch(JobId job, Attempt attempt, const Grant& grant);
  Variables hints(const Job& job, const Grant& grant) const;
  std::string asked(JobId job) const;
  std::string report_path() const;
  Expected<shim::Order> order_of(JobId job, Attempt attempt, const Grant& grant) const;
  void forget(JobId job, Attempt attempt);
  void finish(const Finished& finished);

  Options options_;
  Machine machine_;
  std::unique_ptr<Host> host_;
  std::optional<live::Keeper> keeper_;
  Clock clock_;
  Loop loop_;
  live::Watcher watcher_;
  Presenter presenter_;
  Forecaster forecaster_{options_.rules.policy, options_.rules.place};
  live::UserQueues user_queues_{options_.user_queue};
  std::unique_ptr<Launcher> launcher_;
  std::unique_ptr<Logs> logs_;
  std::unique_ptr<Reports> reports_;
  std::unique_ptr<Probe> probe_;
  std::unique_ptr<Syncer> syncer_;
  std::unique_ptr<Faults> faults_;

  std::vector<Input> inputs_;
  std::vector<Asked> asked_;
  std::vector<Follower> followers_;
  std::map<GpuId, Instant> looking_;             ///< Asked of the probe and not answered.
  std::optional<Instant> waits_since_;           ///< When the next step began to wait for looks.
  std::set<std::pair<JobId, Attempt>> overran_;  ///< Told to end for taking others' memory.
  std::map<JobId, Attempt> current_;             ///< The attempt of each job that holds a berth.
  Loop::Alarm wake_;
  Loop::Alarm probe_alarm_;
  Loop::Alarm silence_alarm_;
  Loop::Alarm leaving_alarm_;
  Loop::Alarm retry_alarm_;
  Loop::Alarm start_again_alarm_;
  live::FailedStarts
      failed_starts_;  ///< Told to the engine when they are due: what failed may pass.
  bool is_retrying_ = false;
  bool is_snapshot_synced_ = true;  ///< What was written of it last is on the disk.
  std::optional<Error> failure_;
};

}  // namespace berth::daemon
