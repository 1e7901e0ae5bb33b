// The daemon: the conductor (live/conductor.hpp) with a loop, an API and a site that runs its jobs.
//
// One thread owns the engine. Everything else - requests, looks at GPUs, ends of jobs - comes to it
// through the loop's queue; what has come by the time the conductor has its turn is one step.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "daemon/answers/forecaster.hpp"
#include "daemon/answers/present.hpp"
#include "daemon/attempts/logs.hpp"
#include "daemon/limits/overuse.hpp"
#include "daemon/loop/alarms.hpp"
#include "daemon/loop/body_reader.hpp"
#include "daemon/loop/clock.hpp"
#include "daemon/loop/loop.hpp"
#include "daemon/loop/solver.hpp"
#include "daemon/loop/syncer.hpp"
#include "daemon/machine/host.hpp"
#include "daemon/machine/machine.hpp"
#include "daemon/notices/announcer.hpp"
#include "daemon/notices/attendants.hpp"
#include "daemon/notices/audit.hpp"
#include "daemon/notices/followers.hpp"
#include "daemon/settings/options.hpp"
#include "daemon/settings/retention.hpp"
#include "daemon/site/site.hpp"
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
  std::string so_far = {};          ///< What steps before did for the same request; for an error.
  std::function<void()> fail = {};  ///< Once it is refused.
};

/// What it means that no step can be written down.
inline constexpr const char* kUnwritten =
    "the journal cannot be written: until it can, nothing that is asked is done, no job starts, "
    "none is ended at its time limit, and no end is told";

class Daemon {
 public:
  /// Opens everything and takes over jobs of an earlier daemon. Serves nothing yet.
  /// Jobs run at `site`.
  static Expected<std::unique_ptr<Daemon>> open(Options options, std::unique_ptr<Site> site);
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
  CpuMilli default_cpu() const { return default_cpu_; }    // from any thread
  Duration longest_time() const { return longest_time_; }  // likewise
  /// As SharingRules::of(); from any thread.
  std::optional<Sharing> default_sharing(UserId user) const {
    const std::lock_guard lock(sharing_mutex_);
    return sharing_.of(user);
  }
  /// Whether the configuration lets them submit jobs; from any thread.
  bool may_submit(UserId user) const {
    const std::lock_guard lock(sharing_mutex_);
    return !barred_.contains(user);
  }
  Logs& logs() { return *logs_; }
  Audit& audit() { return audit_; }  // from any thread
  const Retention& retention() const { return *retention_; }
  const live::Watcher& watcher() const { return conductor_->watcher(); }
  const Announcer& announcer() const { return *announcer_; }
  Forecaster& forecaster() { return forecaster_; }
  Followers& followers() { return *followers_; }
  Attendants& attendants() { return attendants_; }
  /// As Keeper::store_part().
  Expected<bool> store_part(live::Submission& submission) { return keeper_.store_part(submission); }
  live::UserTotals& user_totals() { return user_totals_; }
  Instant now() const { return clock_.now(); }
  /// Conductor's unwritten().
  const std::optional<Error>& unwritten() const { return conductor_->unwritten(); }
  /// What the last SIGHUP came to, where something is to be done about it: that it was refused, or
  /// keys that wait for a start of berthd; "" where all of the configuration is in force.
  const std::string& reload_problem() const { return reload_problem_; }
  Site& site() const { return *site_; }

 private:
  Daemon(const Options& options, Machine machine, std::unique_ptr<Host> host, live::Keeper keeper,
         std::unique_ptr<Site> site);
  Expected<void> open_logs();
  Expected<Site::Attached> attach_site();
  void open_syncer();
  void open_conductor(const Site::Attached& attached);
  void turn();
  void tell_of_journal();
  void tell_of_refusal(const Error& error);
  void tell_of_room();
  Expected<Reloaded> take_configuration();
  void on_alarm(live::Alarm alarm);
  void on_client_gone(JobId job);
  std::vector<Input> exclusions() const;
  void open_overuse_watch();
  std::string energy_path() const { return options_.state + "/energy"; }
  std::vector<std::string> gpu_names() const;
  void restore_energy();
  void save_energy();
  Expected<void> sync();

  Options options_;
  std::atomic<Duration> longest_time_;
  std::atomic<CpuMilli> default_cpu_;  ///< A reload changes it while bodies are read,
  mutable std::mutex sharing_mutex_;
  SharingRules sharing_;  ///< and these.
  std::set<UserId> barred_;
  std::function<Expected<Options>()> read_;
  Machine machine_;
  GivenGpus given_;
  std::unique_ptr<Host> host_;
  live::Keeper keeper_;
  Clock clock_;
  Audit audit_;  ///< Outlives requests that the loop still has at the end: it writes them down.
  Loop loop_;
  Alarms alarms_;
  Forecaster forecaster_{options_.rules.policy, options_.rules.place};
  live::UserTotals user_totals_{{.jobs = options_.user_queue, .bytes = options_.user_environments}};
  std::unique_ptr<Solver> solver_;
  std::unique_ptr<live::Conductor> conductor_;
  bool is_unwritten_ = false;  ///< As was told.
  bool is_refusing_ = false;   ///< New jobs, for lack of room; as was told.
  std::string reload_problem_;
  std::unique_ptr<Presenter> presenter_;
  std::unique_ptr<Followers> followers_;
  Attendants attendants_{{.loop = loop_, .keeper = keeper_},
                         [this](JobId job) { on_client_gone(job); }};
  std::unique_ptr<Announcer> announcer_;
  std::unique_ptr<ForecastFollower> forecast_follower_;
  std::unique_ptr<SiteFollower> site_follower_;

  // What reports to the conductor, and so ends before it.
  std::unique_ptr<Site> site_;
  std::unique_ptr<Logs> logs_;
  std::unique_ptr<Syncer> syncer_;
  std::unique_ptr<OveruseWatch> overuse_;
  Instant energy_saved_;
  std::unique_ptr<Retention> retention_;
  BodyReader bodies_;  ///< Ends first: what it reads goes on to all the rest.
};

}  // namespace berth::daemon
