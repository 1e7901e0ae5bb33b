#include "daemon/daemon.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "core/base/limits.hpp"
#include "core/text/text.hpp"
#include "daemon/answers/row.hpp"
#include "daemon/attempts/launcher.hpp"
#include "daemon/settings/config.hpp"
#include "live/who_asked.hpp"
#include "policy/registry.hpp"
#include "posix/small_file.hpp"

namespace berth::daemon {

namespace {

constexpr Duration kLinger = Duration(100);  ///< For a look, which mostly takes less.
constexpr Duration kSaveEnergy = seconds(30);
constexpr const char* kJournal = "/run/systemd/journal/socket";
constexpr Duration kOddAhead = minutes(10);  ///< Of the clock: the journal.
constexpr std::string_view kExclude = "`exclude` in berth.toml";
constexpr std::string_view kOveruse = "beyond its grant: ";
constexpr int kInternalError = 500;
constexpr int kInsufficientStorage = 507;

void tell(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::fprintf(stderr, "berthd: %s\n", line.c_str());
}

/// Under jobs that hold berths time goes on as it did: their limits must not jump.
Clock clock_for(const live::Keeper& keeper, const Options& options) {
  const std::string path = options.state + "/clock";
  const bool goes_on =
      !keeper.engine().view().running().empty() && keeper.set_back() == Duration::zero();
  const auto kept = goes_on ? Clock::kept(keeper.last(), path) : std::nullopt;
  if (kept) return *kept;
  const bool is_believed = options.trusts_clock || !is_far_ahead(Clock::wall(), keeper.last());
  const Clock clock = is_believed ? Clock(keeper.last()) : Clock::from(keeper.last());
  if (goes_on) return clock;
  clock.keep(path);
  return clock;
}

/// Errors: InvalidArgument for a clock beyond all times that berthd keeps.
Expected<void> check_clock(Instant wall) {
  if (wall <= limits::kLastInstant) return {};
  return fail(ErrorCode::InvalidArgument, "the machine's clock says " + date_text(wall) +
                                              ", berthd keeps times up to " +
                                              date_text(limits::kLastInstant) + ": set it first");
}

/// Whether it was said that the machine's clock is right.
enum class Trust : std::uint8_t { Unsaid, Said };

/// What to tell of a clock that is not where the journal ends; "" if nothing.
std::string odd_clock(const live::Keeper& keeper, Instant wall, Trust trust) {
  const Instant last = keeper.last();
  if (keeper.set_back() > Duration::zero()) {
    return "time is set back from " + date_text(last + keeper.set_back()) + " to " +
           date_text(last) + ", as --trust-clock says";
  }
  if (last > wall + kOddAhead) return ahead_text(last, wall);
  if (!is_far_ahead(wall, last) || trust == Trust::Said) return "";
  return "the machine's clock says " + date_text(wall) + ", and the journal ends at " +
         date_text(last) +
         ": it is not believed, and berthd's time goes on from the journal's; if it is right, stop "
         "berthd and start it once with --trust-clock; if not, set it";
}

http::Response response_to(live::Setback setback, const std::string& so_far, const Error& error) {
  switch (setback) {
    case live::Setback::NothingChanged:
      return {.status = kInsufficientStorage,
              .body = http::error_body(so_far + "nothing was changed: " + error.message)};
    case live::Setback::LeftToNext:
      return {.status = kInternalError,
              .body = http::error_body(
                  so_far +
                  "it is written down but not done; berthd ends, ask the next: " + error.message)};
    case live::Setback::MayBeLost:
      return {
          .status = kInsufficientStorage,
          .body = http::error_body("it may be lost if the machine stops now: " + error.message)};
  }
  return {.status = kInternalError, .body = http::error_body(error.message)};
}

/// Why the default policy suspends no job; "" if it does. Requires: the settings say what room
/// there is for suspended jobs.
std::string why_no_turns(const Options& options, const Machine& machine) {
  if (!machine.no_suspension.empty()) return "jobs cannot be suspended: " + machine.no_suspension;
  if (options.preempt_by != PreemptBy::Suspend) return "preempt_by is not suspend";
  Bytes held{0};
  for (const GpuSpec& gpu : machine.cluster.gpus()) held += gpu.capacity;
  const Bytes room = options.rules.settings.suspend_room.value_or(Bytes(0));
  if (room >= held) return "";  // doc/adr/0024
  return "suspended jobs may have " + to_text(room) + " of host memory, less than the " +
         to_text(held) + " of the GPUs";
}

Expected<void> settle_policy(Options& options, const Machine& machine) {
  const std::string why = why_no_turns(options, machine);
  options.rules.policy = why.empty() ? "turns" : "headroom";
  options.policy_because =
      why.empty() ? "jobs can be suspended, to host memory for what the GPUs hold" : why;
  return complete_policy(options);
}

/// What preemption is on this machine, and with it the policy where that is left to berthd.
/// Errors: InvalidArgument for a policy that preempts where that would lose work that nobody agreed
/// to lose.
Expected<void> settle_preemption(Options& options, const Machine& machine) {
  Settings& settings = options.rules.settings;
  settings.can_suspend = machine.no_suspension.empty() && options.preempt_by == PreemptBy::Suspend;
  settings.suspends_on_type = settings.can_suspend;
  if (settings.can_suspend) settings.suspend_room = room_for_suspended(options, machine);
  if (options.rules.policy == kAutoPolicy) return settle_policy(options, machine);
  if (options.preempt_by != PreemptBy::Suspend) return {};
  const auto chosen = choose(options.rules.policy, options.rules.place);
  if (!chosen || !chosen->preempts()) return {};
  std::string why_not;
  if (!settings.can_suspend) {
    why_not = "this machine cannot suspend jobs: " + machine.no_suspension;
  } else if (chosen->shares_by_mps) {
    why_not = "jobs that share GPUs through MPS, as its gate mps has them do, cannot be suspended";
  } else {
    return {};
  }
  return fail(ErrorCode::InvalidArgument,
              "policy " + options.rules.policy + " preempts, and " + why_not +
                  "; say --preempt-by signal, or preempt_by = \"signal\" in berth.toml, if only "
                  "jobs that save their state (--on-preempt) are to be preempted, restart if any "
                  "preempted job may begin again from nothing, or choose a policy that does not "
                  "preempt (berth policies)");
}

/// Errors: InvalidArgument where no job can be suspended.
Expected<void> check_idle(const IdleRules& rules, const Machine& machine) {
  if (rules.suspend == kForever || machine.no_suspension.empty()) return {};
  return fail(ErrorCode::InvalidArgument, "idle_suspend: this machine cannot suspend jobs: " +
                                              machine.no_suspension + "; idle_end ends them");
}

}  // namespace

// ---- Opening ---------------------------------------------------------------------------------

Expected<std::unique_ptr<Daemon>> Daemon::open(Options options, std::unique_ptr<Site> site) {
  const Instant wall = Clock::wall();
  if (auto sane = check_clock(wall); !sane) return std::unexpected(sane.error());
  auto machine = site->machine(options);
  if (!machine) return std::unexpected(machine.error());
  if (auto settled = settle_preemption(options, *machine); !settled) {
    return std::unexpected(settled.error());
  }
  if (auto able = check_idle(options.idle, *machine); !able) return std::unexpected(able.error());
  live::Opening opening{.path = options.state + "/journal.db",
                        .last_job = last_named({options.state + "/attempts",
                                                options.state + "/logs", options.state + "/aside"}),
                        .loss = options.loss,
                        .snapshots = {},
                        .trusted_clock = options.trusts_clock ? std::optional(wall) : std::nullopt};
  site->plan_change(opening, *machine);
  auto host = std::make_unique<Host>(opening.path, options.oom_words);
  auto keeper = live::Keeper::open(*host, opening, machine->cluster, options.rules);
  if (!keeper) return std::unexpected(keeper.error());
  site->settle_machine(*machine, *keeper);
  tell(machine->notes);
  const Trust trust = options.trusts_clock ? Trust::Said : Trust::Unsaid;
  if (const std::string odd = odd_clock(*keeper, wall, trust); !odd.empty()) tell({odd});
  std::unique_ptr<Daemon> daemon(new Daemon(options, std::move(*machine), std::move(host),
                                            std::move(*keeper), std::move(site)));
  tell(daemon->given_.notes);
  if (auto done = daemon->open_logs(); !done) return std::unexpected(done.error());
  auto attached = daemon->attach_site();
  if (!attached) return std::unexpected(attached.error());
  daemon->open_syncer();
  daemon->open_conductor(*attached);
  daemon->user_totals_.count_all(daemon->keeper_);
  return daemon;
}

Daemon::Daemon(const Options& options, Machine machine, std::unique_ptr<Host> host,
               live::Keeper keeper, std::unique_ptr<Site> site)
    : options_(options),
      longest_time_(options.longest_time),
      default_cpu_(options.default_cpu),
      sharing_(options.sharing),
      barred_(options.barred),
      machine_(std::move(machine)),
      given_(given_of(options.given, machine_.devices.list)),
      host_(std::move(host)),
      keeper_(std::move(keeper)),
      clock_(clock_for(keeper_, options)),
      audit_({.path = options.state + "/audit.jsonl",
              .cap = options.audit_cap,
              .journal = std::getenv("JOURNAL_STREAM") == nullptr ? "" : kJournal}),
      alarms_(loop_, [this](live::Alarm alarm) { on_alarm(alarm); }),
      site_(std::move(site)) {}

Daemon::~Daemon() = default;

bool Daemon::leave_driver() {
  const bool site_left = site_->leave();
  return retention_->stop() && site_left;
}

Expected<void> Daemon::open_logs() {
  auto logs = Logs::open(options_.state + "/logs");
  if (!logs) return std::unexpected(logs.error());
  logs_ = std::move(*logs);
  return {};
}

Expected<Site::Attached> Daemon::attach_site() {
  return site_->attach(
      {.loop = loop_,
       .keeper = keeper_,
       .clock = clock_,
       .options = options_,
       .machine = machine_,
       .audit = audit_,
       .announce = [this](JobId job, live::Occasion what) { announcer_->tell(job, what); }});
}

void Daemon::open_syncer() {
  const Syncer::Tidying tidying{
      .is_due =
          [this] {
            return keeper_.store().needs_checkpoint() || keeper_.store().wants_longer_log();
          },
      .work =
          [this] {
            static_cast<void>(keeper_.store().checkpoint());  // one that fails comes again
            keeper_.store().lengthen_log();
          }};
  syncer_ = std::make_unique<Syncer>([this] { return sync(); }, tidying);
  static_cast<void>(keeper_.check_room());  // the sooner it is set aside, the better
  keeper_.store().lengthen_log();
}

/// On the sync thread.
Expected<void> Daemon::sync() {
  auto synced = keeper_.store().sync();
  if (!synced) loop_.post([this, error = synced.error()] { conductor_->on_sync_failed(error); });
  return synced;
}

void Daemon::open_conductor(const Site::Attached& attached) {
  live::Setup setup{.problems = {},
                    .probe = options_.probe,
                    .fast = options_.probe_fast,
                    .shrink = {.warm_up = options_.shrink_after},
                    .trespass = attached.trespass,
                    .again_after_overrun = options_.again_after_overrun};
  for (const Device& device : machine_.devices.list) setup.problems.push_back(device.problem);
  followers_ = std::make_unique<Followers>(
      Followers::Parts{.loop = loop_, .keeper = keeper_, .logs = *logs_},
      [this](JobId job, const Viewer& viewer) { return presenter_->job(job, viewer); });
  announcer_ = std::make_unique<Announcer>(
      Announcer::Parts{.loop = loop_, .keeper = keeper_, .options = options_},
      Announcer::Hooks{
          .began = [this](const Job& job,
                          const live::Command& command) { site_->on_began(job, command); },
          .describe = [this](JobId job) { return presenter_->job(job, Viewer{}); },
          .describe_array =
              [this](const ArraySpan& array) { return presenter_->array(array, Viewer{}); }},
      *followers_);
  forecast_follower_ = std::make_unique<ForecastFollower>(forecaster_, keeper_, *announcer_);
  site_follower_ = std::make_unique<SiteFollower>(*site_, *forecast_follower_);
  solver_ = std::make_unique<Solver>(
      loop_,
      Solver::Hooks{.answered = [this](Answer answer) { conductor_->on_answer(std::move(answer)); },
                    .failed = [](const std::string& line) { tell({line}); }});
  conductor_ = std::make_unique<live::Conductor>(keeper_, std::move(setup),
                                                 live::Hands{.executor = attached.executor,
                                                             .eyes = attached.eyes,
                                                             .clock = clock_,
                                                             .alarms = alarms_,
                                                             .syncs = *syncer_,
                                                             .audience = *site_follower_,
                                                             .solver = solver_.get()});
  Enforcers enforcers = site_->enforcers();
  enforcers.untold = [this](JobId job) { return announcer_->failure_of(job); };
  enforcers.now = [this] { return now(); };
  presenter_ =
      std::make_unique<Presenter>(keeper_, machine_, conductor_->watcher(), std::move(enforcers));
  host_->set_strangers([this](GpuId gpu) { return presenter_->strangers_text(gpu); });
  tell(conductor_->recover());
  restore_energy();
  take(exclusions());
  open_overuse_watch();
  announcer_->recover(conductor_->ended_early());
  retention_ = std::make_unique<Retention>(
      Retention::Parts{.loop = loop_,
                       .keeper = keeper_,
                       .clock = clock_,
                       .logs = options_.state + "/logs",
                       .remove_snapshot =
                           [this](const live::Pruner::OldSnapshot& old) {
                             announcer_->run(
                                 {.as = old.owner,
                                  .directory = "/",
                                  .arguments = {"rm", "-rf", "--one-file-system", "--", old.path},
                                  .environment = {"PATH=/usr/bin:/bin"},
                                  .input = ""});
                           }},
      options_.retention);
  site_->begin(*conductor_);
}

// ---- Running ---------------------------------------------------------------------------------

Expected<void> Daemon::run() {
  loop_.run([this] { turn(); });
  syncer_.reset();  // what was promised is kept before the end
  save_energy();
  if (conductor_->failure()) return std::unexpected(*conductor_->failure());
  return keeper_.snapshot_at_end();
}

void Daemon::turn() {
  conductor_->turn();
  if (conductor_->failure()) return loop_.stop();
  tell_of_journal();
  if (conductor_->waits_for_look()) loop_.linger(kLinger);
}

/// Once, and once it is over.
void Daemon::tell_of_journal() {
  const std::optional<Error>& problem = conductor_->unwritten();
  if (problem.has_value() == std::exchange(is_unwritten_, problem.has_value())) return;
  std::fprintf(stderr, "berthd: %s%s\n",
               problem ? (problem->message + ": ").c_str() : "the journal can be written again",
               problem ? kUnwritten : "");
}

/// Once, and once it is over: who submits is told each time, and an administrator reads this.
void Daemon::tell_of_refusal(const Error& error) {
  if (conductor_->unwritten() || std::exchange(is_refusing_, true)) return;
  std::fprintf(stderr, "berthd: %s: new jobs are refused\n", error.message.c_str());
}

void Daemon::tell_of_room() {
  if (std::exchange(is_refusing_, false)) {
    std::fputs("berthd: there is room again: new jobs are taken in\n", stderr);
  }
}

void Daemon::on_alarm(live::Alarm alarm) {
  conductor_->on_alarm(alarm);
  if (alarm != live::Alarm::Probe) return;
  site_->on_probe();
  overuse_->look(keeper_.engine());
  if (clock_.now() - energy_saved_ >= kSaveEnergy) save_energy();
}

/// Of the GPUs that the driver tells of.
std::vector<std::string> Daemon::gpu_names() const {
  std::vector<std::string> names;
  for (const Device& device : machine_.devices.list) names.push_back(device.uuid);
  return names;
}

/// What jobs took until now, and the counters then: those go on while no berthd runs.
void Daemon::restore_energy() {
  energy_saved_ = clock_.now();
  if (machine_.port) conductor_->restore_energy(read_small_file(energy_path()), gpu_names());
}

void Daemon::save_energy() {
  if (!machine_.port) return;
  energy_saved_ = clock_.now();
  const std::string text = conductor_->watcher().energy().save(gpu_names());
  if (!text.empty()) replace_small_file(energy_path(), text);
}

/// A note is shown as the reason of a job that runs.
void Daemon::open_overuse_watch() {
  overuse_ = std::make_unique<OveruseWatch>(
      options_.overuse,
      OveruseWatch::Hooks{
          .warn =
              [this](const live::WantedSurplus& found) {
                keeper_.note(found.holder,
                             std::string(kOveruse) + "it holds " + to_text(found.held) +
                                 " on GPU " + std::to_string(found.gpu.value()) + ", was granted " +
                                 to_text(found.granted) + ", and job " +
                                 std::to_string(found.wanted_by.value()) + " waits for the rest");
                announcer_->tell(found.holder, live::Occasion::Overuse);
              },
          .settled =
              [this](JobId job) {
                if (keeper_.note_of(job).starts_with(kOveruse)) keeper_.note(job, "");
              },
          .end =
              [this](const live::WantedSurplus& found) {
                audit_.add("end job " + std::to_string(found.holder.value()) +
                               ", which holds more than it was granted",
                           "done");
                take({SurplusAsked{found.holder, found.attempt}});
              }});
}

std::string Daemon::not_given_by(GpuId gpu) const {
  if (given_.others.contains(gpu)) return given_.by;
  return options_.exclude.contains(gpu) ? std::string(kExclude) : "";
}

std::string Daemon::why_not_ours(GpuId gpu) const {
  const std::string by = not_given_by(gpu);
  if (by.empty()) return "";
  return "GPU " + std::to_string(gpu.value()) + ": was not given to berthd (" + by +
         "); change that, and reload or start berthd again";
}

std::optional<std::string> Daemon::why_not_given(const GpuRequest& asked) const {
  if (given_.others.empty() || asked.least() == GpuCount(0)) return std::nullopt;
  const std::size_t all = machine_.devices.list.size();
  const std::vector<GpuId> named = gpus_in(asked.only);
  std::int64_t usable = 0;
  for (std::uint32_t g = 0; g < all; ++g) {
    const bool is_named = asked.only == 0 || std::ranges::find(named, GpuId(g)) != named.end();
    if (is_named && !given_.others.contains(GpuId(g))) ++usable;
  }
  if (usable >= asked.least().raw()) return std::nullopt;
  return "request: asks " + std::to_string(asked.least().raw()) +
         (asked.only == 0 ? " GPUs" : " of certain GPUs") + ", berthd was given " +
         std::to_string(usable) + " of them (" + given_.by + ")";
}

/// The configuration's list is kept as drains of its own; those of operators are left alone.
std::vector<Input> Daemon::exclusions() const {
  std::vector<Input> inputs;
  const auto& drains = keeper_.engine().view().drains();
  for (std::uint32_t g = 0; g < machine_.devices.list.size(); ++g) {
    const GpuId gpu(g);
    const auto drain = drains.find(gpu);
    const bool is_ours = drain != drains.end() && !drain->second.by;
    const std::string by = not_given_by(gpu);
    if (is_ours ? by == drain->second.reason : by.empty()) continue;
    std::optional<Drain> wanted;
    if (!by.empty()) wanted = Drain{.reason = by};
    inputs.emplace_back(Drained{gpu, std::move(wanted)});
  }
  return inputs;
}

Expected<Daemon::Reloaded> Daemon::reload() {
  auto done = take_configuration();
  reload_problem_.clear();
  if (!done) {
    reload_problem_ = "was not taken over, what was before holds: " + done.error().message;
  } else if (!done->at_next_start.empty()) {
    for (const std::string& key : done->at_next_start) {
      reload_problem_ += (reload_problem_.empty() ? "" : ", ") + key;
    }
    reload_problem_ = "waits for the next start of berthd: " + reload_problem_;
  }
  return done;
}

Expected<Daemon::Reloaded> Daemon::take_configuration() {
  if (!read_) return fail(ErrorCode::Conflict, "this berthd has no configuration to read again");
  auto fresh = read_();
  if (!fresh) return std::unexpected(fresh.error());
  if (fresh->rules.policy == kAutoPolicy && !options_.policy_because.empty()) {
    fresh->rules.policy = options_.rules.policy;  // the machine is the same
  }
  if (auto able = check_idle(fresh->idle, machine_); !able) return std::unexpected(able.error());
  Reloaded done{.inputs = {}, .at_next_start = {}, .warnings = fresh->warnings};
  const ClusterView view = keeper_.engine().view();
  const auto weights = options_.rules.weights;
  // As the engine has them: what an earlier reload changed there may not have been kept.
  options_.rules.settings = view.settings();
  options_.rules.bounds = view.preemption_bounds();
  for (const ConfigKey& key : config_keys()) {
    if (key.option.same(options_, *fresh)) continue;
    if (key.applies == Applies::Now) key.option.take(options_, *fresh);
    if (key.applies == Applies::NextStart) done.at_next_start.emplace_back(key.name);
  }
  // What [users] and [groups] come to.
  options_.rules.settings.user_limits = fresh->rules.settings.user_limits;
  options_.retention.of_users = fresh->retention.of_users;
  options_.sharing.of_users = fresh->sharing.of_users;
  const live::Rules& rules = options_.rules;
  if (rules.settings != view.settings()) done.inputs.emplace_back(Configured{rules.settings});
  if (rules.bounds != view.preemption_bounds()) done.inputs.emplace_back(Bounded{rules.bounds});
  if (rules.weights != weights) done.inputs.emplace_back(Weighed{rules.weights});
  std::ranges::move(exclusions(), std::back_inserter(done.inputs));
  site_->on_reload();
  overuse_->set(options_.overuse);
  retention_->set(options_.retention);
  longest_time_ = options_.longest_time;
  default_cpu_ = options_.default_cpu;
  const std::lock_guard lock(sharing_mutex_);
  sharing_ = options_.sharing;
  barred_ = options_.barred = fresh->barred;
  return done;
}

void Daemon::on_client_gone(JobId job) {
  note_for_good(job, std::string(live::kEnded) + "its `berth run` was killed while the job waited");
  take({CancelAsked{job}});
}

void Daemon::take(std::vector<Input> inputs) { conductor_->tell(std::move(inputs)); }

void Daemon::ask_reload() {
  loop_.post([this] {
    auto done = reload();
    audit_.add("reload by SIGHUP", done ? "done" : "refused: " + done.error().message);
    if (!done) {
      std::fprintf(stderr, "berthd: the configuration stays as it was: %s\n",
                   done.error().message.c_str());
      return;
    }
    tell(done->warnings);
    for (const std::string& key : done->at_next_start) {
      std::fprintf(stderr, "berthd: %s: is taken over at the next start\n", key.c_str());
    }
    std::fprintf(stderr, "berthd: the configuration is read again\n");
    take(std::move(done->inputs));
  });
}

void Daemon::ask(Asked asked) {
  const auto exchange = std::move(asked.exchange);
  conductor_->ask(
      {.user = UserId(exchange->request().peer.user),
       .submission = std::move(asked.submission),
       .inputs = std::move(asked.inputs),
       .left = asked.left,
       .answer = [this, exchange, answer = std::move(asked.answer)](JobId id) -> live::Send {
         if (id != JobId(0)) tell_of_room();
         auto response = answer(id);
         if (!response) return nullptr;
         return [exchange, response = std::move(*response)]() mutable {
           exchange->respond(std::move(response));
         };
       },
       .fail =
           [this, exchange, so_far = std::move(asked.so_far), fail = std::move(asked.fail)](
               live::Setback setback, const Error& error) {
             if (setback == live::Setback::NothingChanged) tell_of_refusal(error);
             if (fail) fail();
             exchange->respond(response_to(setback, so_far, error));
           }});
}

}  // namespace berth::daemon
