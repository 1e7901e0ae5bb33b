#include "daemon/daemon.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "daemon/order.hpp"

namespace berth::daemon {

namespace {

constexpr Duration kLinger = Duration(100);  ///< For a look, which mostly takes less.
constexpr int kInternalError = 500;
constexpr int kInsufficientStorage = 507;

void tell(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::fprintf(stderr, "berthd: %s\n", line.c_str());
}

/// Under jobs that hold berths time goes on as it did: their limits must not jump.
Clock clock_for(const live::Keeper& keeper, const std::string& path) {
  if (!keeper.engine().view().running().empty()) return Clock::as_before(keeper.last(), path);
  const Clock clock(keeper.last());
  clock.keep(path);
  return clock;
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

}  // namespace

// ---- Opening ---------------------------------------------------------------------------------

Expected<std::unique_ptr<Daemon>> Daemon::open(const Options& options) {
  auto machine = open_machine(options);
  if (!machine) return std::unexpected(machine.error());
  const live::Opening opening{
      .path = options.state + "/journal.db",
      .last_job = last_named(
          {options.state + "/attempts", options.state + "/logs", options.state + "/aside"}),
      .loss = options.loss};
  auto host = std::make_unique<Host>(opening.path);
  auto keeper = live::Keeper::open(*host, opening, machine->cluster, options.rules);
  if (!keeper) return std::unexpected(keeper.error());
  std::unique_ptr<Daemon> daemon(
      new Daemon(options, std::move(*machine), std::move(host), std::move(*keeper)));
  if (auto done = daemon->open_launcher(); !done) return std::unexpected(done.error());
  if (auto done = daemon->open_reports(); !done) return std::unexpected(done.error());
  daemon->open_driver();
  daemon->open_syncer();
  daemon->open_conductor();
  return daemon;
}

Daemon::Daemon(const Options& options, Machine machine, std::unique_ptr<Host> host,
               live::Keeper keeper)
    : options_(options),
      machine_(std::move(machine)),
      host_(std::move(host)),
      keeper_(std::move(keeper)),
      clock_(clock_for(keeper_, options.state + "/clock")),
      alarms_(loop_, [this](live::Alarm alarm) { on_alarm(alarm); }) {}

Daemon::~Daemon() = default;

bool Daemon::leave_driver() {
  const bool probe_ended = !probe_ || probe_->stop();
  const bool faults_ended = !faults_ || faults_->stop();
  const bool limits_ended = !limits_ || limits_->stop();
  return probe_ended && faults_ended && limits_ended;
}

Expected<void> Daemon::open_launcher() {
  const Hooks hooks{
      .started =
          [this](JobId job, Attempt attempt) {
            limits_->check(job, attempt);
            conductor_->on_started(job, attempt);
          },
      .failed =
          [this](JobId job, Attempt attempt) {
            conductor_->on_failed(job, attempt, "its shim died before it began");
          },
      .ended =
          [this](JobId job, Attempt attempt, const shim::Exit& exit, const std::string& note) {
            conductor_->on_ended(job, attempt, ending_of(exit, note, log_path(job), clock_));
          },
      .lost = [this](JobId job, Attempt attempt,
                     const std::string& note) { conductor_->on_lost(job, attempt, note); },
  };
  auto launcher = Launcher::open(loop_,
                                 {.shim = options_.shim,
                                  .attempts = options_.state + "/attempts",
                                  .logs = options_.state + "/logs",
                                  .cgroup = options_.cgroup,
                                  .aside = options_.state + "/aside",
                                  .mark = "BERTH_REPORT=" + report_path(options_),
                                  .files = raise_file_limit()},
                                 hooks);
  if (!launcher) return std::unexpected(launcher.error());
  launcher_ = std::move(*launcher);
  auto logs = Logs::open(options_.state + "/logs");
  if (!logs) return std::unexpected(logs.error());
  logs_ = std::move(*logs);
  return {};
}

Expected<void> Daemon::open_reports() {
  auto reports = Reports::open(
      loop_, report_path(options_), ::geteuid() == 0 ? 0666 : 0600,
      [this](JobId job, uid_t user) {
        const Job* const known = keeper_.engine().view().find(job);
        return known != nullptr && (user == 0 || known->spec.user == UserId(user));
      },
      [this](std::vector<Input> inputs) { conductor_->tell(std::move(inputs)); });
  if (!reports) return std::unexpected(reports.error());
  reports_ = std::move(*reports);
  return {};
}

void Daemon::open_driver() {
  limits_ =
      std::make_unique<Limits>(machine_.port.get(), machine_.devices.list.size(),
                               LimitOptions{.cgroup = options_.cgroup, .allowed = options_.limits});
  if (!machine_.port) return;
  probe_ =
      std::make_unique<Probe>(*machine_.port, clock_, launcher_->shims(), [this](live::Look look) {
        loop_.post(
            [this, look = std::move(look)]() mutable { conductor_->on_look(std::move(look)); });
      });
  faults_ = std::make_unique<Faults>(*machine_.port, [this](const GpuEvent& event) {
    loop_.post([this, event] {
      conductor_->on_fault(GpuId(event.device), "Xid " + std::to_string(event.xid));
    });
  });
}

void Daemon::open_syncer() {
  const Syncer::Tidying tidying{
      .is_due = [this] { return keeper_.needs_checkpoint() || keeper_.wants_longer_log(); },
      .work =
          [this] {
            static_cast<void>(keeper_.checkpoint());  // one that fails comes again
            keeper_.lengthen_log();
          }};
  syncer_ = std::make_unique<Syncer>([this] { return sync(); }, tidying);
  static_cast<void>(keeper_.check_room());  // the sooner it is set aside, the better
  keeper_.lengthen_log();
}

/// On the sync thread.
Expected<void> Daemon::sync() {
  auto synced = keeper_.sync();
  if (!synced) loop_.post([this, error = synced.error()] { conductor_->on_sync_failed(error); });
  return synced;
}

void Daemon::open_conductor() {
  executor_ = std::make_unique<ShimExecutor>(*launcher_, *limits_, keeper_, options_, machine_);
  live::Setup setup{.problems = {},
                    .probe = options_.probe,
                    .fast = options_.probe_fast,
                    .again_after_overrun = options_.again_after_overrun};
  for (const Device& device : machine_.devices.list) setup.problems.push_back(device.problem);
  followers_ = std::make_unique<Followers>(keeper_, *logs_,
                                           [this](JobId job) { return presenter_->job(job); });
  limit_follower_ = std::make_unique<LimitFollower>(keeper_, *limits_, *followers_);
  conductor_ = std::make_unique<live::Conductor>(keeper_, std::move(setup),
                                                 live::Hands{.executor = *executor_,
                                                             .eyes = probe_.get(),
                                                             .clock = clock_,
                                                             .alarms = alarms_,
                                                             .syncs = *syncer_,
                                                             .audience = *limit_follower_});
  presenter_ = std::make_unique<Presenter>(keeper_, machine_, conductor_->watcher(), limits_.get());
  tell(conductor_->recover());
  reports_->come_back();
}

// ---- Running ---------------------------------------------------------------------------------

Expected<void> Daemon::run() {
  loop_.run([this] { turn(); });
  syncer_.reset();  // what was promised is kept before the end
  if (conductor_->failure()) return std::unexpected(*conductor_->failure());
  return keeper_.snapshot_at_end();
}

void Daemon::turn() {
  conductor_->turn();
  if (conductor_->failure()) return loop_.stop();
  if (conductor_->waits_for_look()) loop_.linger(kLinger);
}

void Daemon::on_alarm(live::Alarm alarm) {
  conductor_->on_alarm(alarm);
  if (alarm == live::Alarm::Probe) reports_->come_back();
}

void Daemon::ask(Asked asked) {
  const auto exchange = std::move(asked.exchange);
  conductor_->ask(
      {.submission = std::move(asked.submission),
       .inputs = std::move(asked.inputs),
       .answer = [exchange, answer = std::move(asked.answer)](JobId id) -> live::Send {
         auto response = answer(id);
         if (!response) return nullptr;
         return [exchange, response = std::move(*response)]() mutable {
           exchange->respond(std::move(response));
         };
       },
       .fail =
           [exchange, so_far = std::move(asked.so_far)](live::Setback setback, const Error& error) {
             exchange->respond(response_to(setback, so_far, error));
           }});
}

}  // namespace berth::daemon
