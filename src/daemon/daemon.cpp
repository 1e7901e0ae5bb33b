#include "daemon/daemon.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "core/text.hpp"
#include "daemon/oom.hpp"

namespace berth::daemon {

namespace {

constexpr Duration kDriverSilence = seconds(3);    ///< A driver that takes longer counts as hung.
constexpr Duration kLookAgain = Duration(10'000);  ///< At a GPU whose memory is not free yet.
constexpr Duration kRetry = seconds(1);            ///< After the journal could not be written.
constexpr Duration kLinger = Duration(100);        ///< For a look, which mostly takes less.
constexpr std::size_t kMostInStep = 256;           ///< Jobs that users submit or change: 8 ms.
constexpr std::size_t kTail = 16 * 1024;           ///< Of a log, looked at for last words.
constexpr int kInternalError = 500;
constexpr int kInsufficientStorage = 507;

void tell(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::fprintf(stderr, "berthd: %s\n", line.c_str());
}

/// `0,2`: as CUDA_VISIBLE_DEVICES takes them.
std::string visible_list(const std::vector<GpuId>& gpus) {
  std::string list;
  for (const GpuId gpu : gpus) list += (list.empty() ? "" : ",") + std::to_string(gpu.value());
  return list;
}

/// A group of its own for an attempt; "" where there is none, and the job is ended process by
/// process.
std::string make_cgroup(const std::string& parent, JobId job, Attempt attempt) {
  if (parent.empty()) return "";
  const std::string path = cgroup_path(parent, job, attempt);
  return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST ? path : "";
}

/// Under jobs that hold berths time goes on as it did: their limits must not jump.
Clock clock_for(const live::Keeper& keeper, const std::string& path) {
  if (!keeper.engine().view().running().empty()) return Clock::as_before(keeper.last(), path);
  const Clock clock(keeper.last());
  clock.keep(path);
  return clock;
}

/// Environment variables as NAME=value; names are unique.
class Environment {
 public:
  /// Of a name that is given twice the first counts, as for most programs; no other may be left, or
  /// it would stand beside what berth sets.
  explicit Environment(const std::vector<std::string>& variables) {
    std::set<std::string_view> names;
    for (const std::string& variable : variables) {
      const auto name = std::string_view(variable).substr(0, variable.find('='));
      if (names.insert(name).second) variables_.push_back(variable);
    }
  }

  std::string* find(std::string_view name) {
    for (std::string& variable : variables_) {
      if (variable.size() > name.size() && variable[name.size()] == '=' &&
          variable.starts_with(name)) {
        return &variable;
      }
    }
    return nullptr;
  }
  void set(const std::string& name, const std::string& value) {
    std::string* const found = find(name);
    std::string& variable = found != nullptr ? *found : variables_.emplace_back();
    variable = name + "=" + value;
  }
  void set_unless_there(const std::string& name, const std::string& value) {
    if (find(name) == nullptr) set(name, value);
  }
  void prepend(const std::string& name, const std::string& value) {
    const std::string* const found = find(name);
    const std::string before = found == nullptr ? "" : found->substr(name.size() + 1);
    set(name, before.empty() ? value : value + ":" + before);
  }
  std::vector<std::string> take() { return std::move(variables_); }

 private:
  std::vector<std::string> variables_;
};

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
  if (auto done = daemon->open_rest(); !done) return std::unexpected(done.error());
  return daemon;
}

Daemon::Daemon(const Options& options, Machine machine, std::unique_ptr<Host> host,
               live::Keeper keeper)
    : options_(options),
      machine_(std::move(machine)),
      host_(std::move(host)),
      keeper_(std::move(keeper)),
      clock_(clock_for(*keeper_, options.state + "/clock")),
      watcher_(machine_.devices.list.size(), options.probe * 5 / 2),
      presenter_(*keeper_, machine_, watcher_),
      wake_(loop_, [this] { inputs_.emplace_back(Ticked{}); }),
      probe_alarm_(loop_, [this] { on_probe(); }),
      silence_alarm_(loop_, [this] { on_silence(); }),
      leaving_alarm_(loop_, [this] { look_at(watcher_.left()); }),
      retry_alarm_(loop_, [this] { is_retrying_ = false; }),
      start_again_alarm_(loop_, [this] { start_again(); }) {}

Daemon::~Daemon() = default;

bool Daemon::leave_driver() {
  const bool probe_ended = !probe_ || probe_->stop();
  const bool faults_ended = !faults_ || faults_->stop();
  return probe_ended && faults_ended;
}

Expected<void> Daemon::open_rest() {
  const Hooks hooks{
      .started = [this](JobId job, Attempt attempt) { on_started(job, attempt); },
      .failed = [this](JobId job, Attempt attempt) { on_failed(job, attempt); },
      .ended = [this](JobId job, Attempt attempt, const shim::Exit& exit,
                      const std::string& note) { on_ended(job, attempt, exit, note); },
      .lost = [this](JobId job, Attempt attempt,
                     const std::string& note) { on_lost(job, attempt, note); },
  };
  auto launcher = Launcher::open(loop_,
                                 {.shim = options_.shim,
                                  .attempts = options_.state + "/attempts",
                                  .logs = options_.state + "/logs",
                                  .cgroup = options_.cgroup,
                                  .aside = options_.state + "/aside",
                                  .mark = "BERTH_REPORT=" + report_path(),
                                  .files = raise_file_limit()},
                                 hooks);
  if (!launcher) return std::unexpected(launcher.error());
  launcher_ = std::move(*launcher);
  auto logs = Logs::open(options_.state + "/logs");
  if (!logs) return std::unexpected(logs.error());
  logs_ = std::move(*logs);
  auto reports = Reports::open(
      loop_, report_path(), ::geteuid() == 0 ? 0666 : 0600,
      [this](JobId job, uid_t user) {
        const Job* const known = keeper_->engine().view().find(job);
        return known != nullptr && (user == 0 || known->spec.user == UserId(user));
      },
      [this](std::vector<Input> inputs) {
        inputs_.insert(inputs_.end(), inputs.begin(), inputs.end());
      });
  if (!reports) return std::unexpected(reports.error());
  reports_ = std::move(*reports);
  const Syncer::Tidying tidying{
      .is_due = [this] { return keeper_->needs_checkpoint() || keeper_->wants_longer_log(); },
      .work =
          [this] {
            static_cast<void>(keeper_->checkpoint());  // one that fails comes again
            keeper_->lengthen_log();
          }};
  syncer_ = std::make_unique<Syncer>([this] { return keeper_->sync(); }, tidying);
  if (machine_.port) {
    probe_ = std::make_unique<Probe>(
        *machine_.port, clock_, launcher_->shims(), [this](live::Look look) {
          loop_.post([this, look = std::move(look)]() mutable { on_look(std::move(look)); });
        });
    faults_ = std::make_unique<Faults>(*machine_.port, [this](const GpuEvent& event) {
      loop_.post([this, event] { on_fault(event); });
    });
  }
  static_cast<void>(keeper_->check_room());  // the sooner it is set aside, the better
  keeper_->lengthen_log();
  recover();
  return {};
}

/// Level-triggered: what the journal says holds a berth is compared with what is there.
void Daemon::recover() {
  const ClusterView view = keeper_->engine().view();
  for (const JobId id : view.running()) current_[id] = view.find(id)->attempt;
  tell(keeper_->store().notes());
  tell(launcher_->sweep([&](JobId job, Attempt attempt) { return standing_of(job, attempt); },
                        keeper_->last_known()));
  for (const Device& device : machine_.devices.list) {
    const GpuId gpu(device.index);
    inputs_.emplace_back(GpuHealth{gpu, device.problem.empty()});
    if (!device.problem.empty()) watcher_.on_fault(gpu, device.problem);
  }
  for (const auto& [id, attempt] : current_) recover(*view.find(id));
  on_probe();
}

live::Standing Daemon::standing_of(JobId job, Attempt attempt) const {
  if (job > keeper_->last_known()) return live::Standing::Unknown;
  const Job* const known = keeper_->engine().view().find(job);
  if (known == nullptr || attempt < known->attempt) return live::Standing::Over;
  if (attempt > known->attempt) return live::Standing::Unknown;
  return current_.contains(job) ? live::Standing::Current : live::Standing::Over;
}

void Daemon::recover(const Job& job) {
  const live::Trace trace = launcher_->adopt(job.id, job.attempt);
  if (trace == live::Trace::Over) return;  // its end is about to be told
  if (trace == live::Trace::Lives) {
    watcher_.changed(live::gpus_of(job.grant), clock_.now());
    const live::Manner manner = job.leaving ? live::Manner::AtOnce : live::Manner::Gently;
    if (job.state == JobState::Stopping) launcher_->stop(job.id, job.attempt, manner);
    return;
  }
  if (job.state == JobState::Starting) return launch(job.id, job.attempt, job.grant);
  if (job.state == JobState::Stopping) {  // its end was journaled, its file already removed
    return watcher_.leaves(job.id, job.attempt, live::gpus_of(job.grant), clock_.now());
  }
  on_lost(job.id, job.attempt, "its attempt file is gone");
}

Expected<void> Daemon::run() {
  loop_.run([this] { turn(); });
  syncer_.reset();  // what was promised is kept before the end
  if (failure_) return std::unexpected(*failure_);
  return keeper_->snapshot_at_end();
}

// ---- What comes in ---------------------------------------------------------------------------

void Daemon::ask(Asked asked) { asked_.push_back(std::move(asked)); }

void Daemon::on_started(JobId job, Attempt attempt) { inputs_.emplace_back(Started{job, attempt}); }

/// It is tried again, unless it was told to be running: then its start is in the journal.
void Daemon::on_failed(JobId job, Attempt attempt) {
  const Job* const known = keeper_->engine().view().find(job);
  const bool ran = known != nullptr && known->state == JobState::Running;
  if (ran) return on_lost(job, attempt, "its shim died before it began");
  on_failed_start(job, attempt, "its shim died before it began");
}

void Daemon::on_failed_start(JobId job, Attempt attempt, const std::string& why) {
  const Job* const known = keeper_->engine().view().find(job);
  if (known == nullptr || known->attempt != attempt) return;
  const std::int32_t failed = known->failed_starts + 1;
  // Its time limit goes on meanwhile; a start that failed counts as no time at all.
  const Duration wait =
      std::min(live::wait_after(failed), (known->spec.time_limit - known->ran) / 2);
  keeper_->note(job, live::failed_start_text(why, failed, wait));
  const bool is_stopping = known->state == JobState::Stopping;
  failed_starts_.add(job, attempt, clock_.now() + (is_stopping ? Duration(0) : wait));
  start_again();
}

/// On a full disk a start would fail again, and to write that down takes room from others' ends.
void Daemon::start_again() {
  const Instant now = clock_.now();
  const auto next = failed_starts_.next();
  if (!next) return;
  if (*next > now) return start_again_alarm_.set(*next - now);
  if (!keeper_->check_room()) return start_again_alarm_.set(kRetry);
  for (const auto& [job, attempt] : failed_starts_.take_due(now)) {
    inputs_.emplace_back(StartFailed{job, attempt});
  }
  start_again();
}

void Daemon::on_ended(JobId job, Attempt attempt, const shim::Exit& exit, const std::string& note) {
  AttemptEnded ended{.job = job,
                     .attempt = attempt,
                     .outcome = Outcome::Oom,
                     .code = shim::shell_code(exit),
                     .at = clock_.at(exit.at),
                     .again_if_hurt = options_.again_after_overrun};
  if (overran_.erase({job, attempt}) > 0) return on_over(ended);
  const bool ran_out = is_oom(exit, [&] { return read_tail(launcher_->log_path(job), kTail); });
  std::string words = note;
  if (ran_out) words += (words.empty() ? "" : "; ") + ("ran out of GPU memory, " + asked(job));
  if (!words.empty()) keeper_->note(job, words);
  if (!ran_out) ended.outcome = ended.code == 0 ? Outcome::Done : Outcome::Failed;
  on_over(ended);
}

void Daemon::on_lost(JobId job, Attempt attempt, const std::string& why) {
  keeper_->note(job, why);
  on_over({.job = job, .attempt = attempt, .outcome = Outcome::Lost, .at = clock_.now()});
}

/// `asked 6 GiB`.
std::string Daemon::asked(JobId job) const {
  const Job* const known = keeper_->engine().view().find(job);
  const Bytes vram = known == nullptr ? Bytes(0) : known->spec.request.gpu.vram;
  return vram == Bytes(0) ? "had a whole GPU" : "asked " + berth::to_text(vram);
}

void Daemon::on_over(const AttemptEnded& ended) {
  const Job* const known = keeper_->engine().view().find(ended.job);
  if (known == nullptr || known->attempt != ended.attempt) return;
  inputs_.emplace_back(ended);
  const auto gpus = live::gpus_of(known->grant);
  watcher_.leaves(ended.job, ended.attempt, gpus, clock_.now());
  look_at({gpus.begin(), gpus.end()});
}

void Daemon::on_look(live::Look look) {
  looking_.erase(look.gpu);
  for (Input& input : watcher_.on_look(std::move(look), keeper_->engine().view())) {
    inputs_.push_back(std::move(input));
  }
  if (!watcher_.left().empty() && looking_.empty()) leaving_alarm_.set(kLookAgain);
}

/// The driver hangs: its GPUs get no jobs until it answers, and nobody waits for it.
void Daemon::on_silence() {
  const Instant now = clock_.now();
  std::set<GpuId> silent;
  for (const auto& [gpu, since] : looking_) {
    if (now - since >= kDriverSilence) silent.insert(gpu);
  }
  for (Input& input : watcher_.on_silence(silent, now)) inputs_.push_back(std::move(input));
  if (!looking_.empty())
    silence_alarm_.set(kDriverSilence);  // one that answers may fall silent again
}

void Daemon::on_probe() {
  std::set<GpuId> all;
  for (std::uint32_t g = 0; g < machine_.devices.list.size(); ++g) all.insert(GpuId(g));
  look_at(all);
  reports_->come_back();
  probe_alarm_.set(options_.probe);
}

void Daemon::look_at(const std::set<GpuId>& gpus) {
  if (!probe_ || gpus.empty()) return;
  if (looking_.empty()) silence_alarm_.set(kDriverSilence);
  for (const GpuId gpu : gpus) looking_.emplace(gpu, clock_.now());
  probe_->look_at(gpus);
}

void Daemon::on_fault(const GpuEvent& event) {
  const std::string problem = "Xid " + std::to_string(event.xid);
  for (Input& input : watcher_.on_fault(GpuId(event.device), problem)) {
    inputs_.push_back(std::move(input));
  }
}

// ---- A step ----------------------------------------------------------------------------------

void Daemon::turn() {
  refuse_without_room();
  for (Input& input : watcher_.take_released()) inputs_.push_back(std::move(input));
  if ((!inputs_.empty() || !asked_.empty()) && !is_retrying_ && !wait_for_look()) step();
  work_on_snapshot();
}

/// True if something waits, or is about to, that this step might start.
bool Daemon::could_start() const {
  const bool arrives = std::ranges::any_of(
      asked_, [](const Asked& asked) { return asked.submission || !asked.inputs.empty(); });
  return arrives || live::somebody_waits(keeper_->engine().view(), inputs_);
}

/// True if a step now could start a job on a GPU of which what is known is too old. A look that
/// began since the wait did is new enough, however long the driver took for it.
bool Daemon::wait_for_look() {
  if (!probe_ || !could_start()) return false;
  if (!waits_since_) waits_since_ = clock_.now();
  std::set<GpuId> stale = watcher_.stale(*waits_since_);
  if (stale.empty()) return false;
  std::erase_if(stale, [&](GpuId gpu) { return looking_.contains(gpu); });
  look_at(stale);
  loop_.linger(kLinger);
  return true;
}

/// As much of what users ask as makes a step of bounded length; at least one thing.
std::vector<Asked> Daemon::take_asked() {
  std::size_t jobs = 0;
  const auto is_enough = [&](const Asked& asked) {
    const bool is_full = jobs >= kMostInStep;
    jobs += std::max<std::size_t>(1, asked.inputs.size());
    return is_full;
  };
  const auto rest = std::ranges::find_if(asked_, is_enough);
  std::vector<Asked> taken(std::move_iterator(asked_.begin()), std::move_iterator(rest));
  asked_.erase(asked_.begin(), rest);
  if (!asked_.empty()) loop_.post([] {});  // the turn after this one takes them
  return taken;
}

void Daemon::step() {
  waits_since_.reset();
  live::Batch batch{.inputs = std::exchange(inputs_, {}), .submissions = {}};
  std::vector<Asked> asked = take_asked();
  const std::size_t own = batch.inputs.size();
  for (Asked& one : asked) {
    batch.inputs.insert(batch.inputs.end(), one.inputs.begin(), one.inputs.end());
    if (one.submission) batch.submissions.push_back(std::move(*one.submission));
  }
  const auto stepped = keeper_->step(std::max(clock_.now(), keeper_->last()), batch);
  if (!stepped) {
    refuse_all(std::move(asked), stepped.error());
    if (keeper_->is_broken()) {
      failure_ = stepped.error();
      return loop_.stop();
    }
    batch.inputs.resize(own);  // what happened stays to be told; what was asked is refused
    inputs_.insert(inputs_.begin(), batch.inputs.begin(), batch.inputs.end());
    is_retrying_ = true;
    return retry_alarm_.set(kRetry);
  }
  const Effects effects = *stepped->effects;
  // First, for an answer waits for the disk meanwhile: what is decided is written down.
  answer_all(std::move(asked), stepped->submitted);
  for (const Effect& effect : effects.list) perform(effect);
  if (effects.wake_at) wake_.set(std::max(Duration::zero(), *effects.wake_at - clock_.now()));
  publish(stepped->touched);
  static_cast<void>(keeper_->snapshot_if_due());  // one that fails is tried again later
}

/// A part of it, and the next once that is on the disk: whoever waits for the disk meanwhile waits
/// for no more than a part of it.
void Daemon::work_on_snapshot() {
  if (is_snapshot_synced_ && !is_retrying_) {
    const auto work = keeper_->work_on_snapshot();
    if (!work || *work != live::Keeper::SnapshotWork::More) return;
    is_snapshot_synced_ = false;
    syncer_->after_sync(
        [this](const Expected<void>&) { loop_.post([this] { is_snapshot_synced_ = true; }); });
  }
}

/// What begins on a full disk could not be written to its end.
void Daemon::refuse_without_room() {
  const auto is_job = [](const Asked& asked) { return asked.submission.has_value(); };
  if (std::ranges::none_of(asked_, is_job)) return;
  const auto room = keeper_->check_room();
  if (room) return;
  const auto jobs = std::ranges::stable_partition(asked_, std::not_fn(is_job));
  for (const Asked& one : jobs) {
    one.exchange->respond(
        {.status = kInsufficientStorage,
         .body = http::error_body("nothing was changed: " + room.error().message)});
  }
  asked_.erase(jobs.begin(), jobs.end());
}

void Daemon::refuse_all(std::vector<Asked> asked, const Error& error) {
  const bool is_written = keeper_->is_broken();  // the daemon that comes next does it
  const std::string what = is_written
                               ? "it is written down but not done; berthd ends, ask the next: "
                               : "nothing was changed: ";
  for (const Asked& one : asked) {
    one.exchange->respond({.status = is_written ? kInternalError : kInsufficientStorage,
                           .body = http::error_body(one.so_far + what + error.message)});
  }
}

void Daemon::answer_all(std::vector<Asked> asked, const std::vector<JobId>& submitted) {
  auto id = submitted.begin();
  for (Asked& one : asked) {
    auto response = one.answer(one.submission ? *id++ : JobId(0));
    if (!response) continue;
    syncer_->after_sync([this, exchange = std::move(one.exchange),
                         response = std::move(*response)](const Expected<void>& synced) mutable {
      if (!synced) {
        loop_.post([this, error = synced.error()] { fail_with(error); });
        response = {.status = kInsufficientStorage,
                    .body = http::error_body("it may be lost if the machine stops now: " +
                                             synced.error().message)};
      }
      exchange->respond(std::move(response));
    });
  }
}

/// A disk that lost what it was given once is not believed again: the next daemon looks anew.
void Daemon::fail_with(const Error& error) {
  failure_ = error;
  loop_.stop();
}

void Daemon::follow(std::shared_ptr<http::Stream> stream, std::optional<JobId> job) {
  followers_.push_back({std::move(stream), job});
}

void Daemon::publish(const std::vector<JobId>& touched) {
  if (followers_.empty()) return;
  for (const JobId id : touched) {
    const bool wanted =
        std::ranges::any_of(followers_, [&](const Follower& f) { return !f.job || *f.job == id; });
    if (!wanted) continue;
    const auto job = presenter_.job(id);
    if (!job) continue;
    const std::string event = "event: job\ndata: " + *job + "\n\n";
    const bool over = !keeper_->engine().view().knows(id);
    for (const Follower& follower : followers_) {
      if (follower.job && *follower.job != id) continue;
      follower.stream->write(event);
      if (follower.job && over) follower.stream->close();
    }
  }
  std::erase_if(followers_, [](const Follower& follower) { return !follower.stream->is_open(); });
}

// ---- Effects ---------------------------------------------------------------------------------

void Daemon::perform(const Effect& effect) {
  if (const auto* wanted = std::get_if<Launch>(&effect)) {
    launch(wanted->job, wanted->attempt, wanted->grant);
  } else if (const auto* resumed = std::get_if<Continue>(&effect)) {
    // Never decided while can_suspend is off: a job that gave way starts again.
    launch(resumed->job, resumed->attempt, resumed->grant);
  } else if (const auto* stopped = std::get_if<Stop>(&effect)) {
    stop(*stopped);
  } else if (const auto* finished = std::get_if<Finished>(&effect)) {
    finish(*finished);
  }
  // Adjust and Compute: no policy of this build asks for them. Hurt: the keeper has written it.
}

void Daemon::stop(const Stop& wanted) {
  if (const auto attempt = failed_starts_.take(wanted.job)) {  // nothing of it runs
    loop_.post([this, failed = StartFailed{wanted.job, *attempt}] { inputs_.push_back(failed); });
  }
  if (wanted.why != StopFor::Overrun) {
    return launcher_->stop(wanted.job, wanted.attempt, live::Manner::Gently);
  }
  const Job* const known = keeper_->engine().view().find(wanted.job);
  for (const Share& share : known == nullptr ? std::vector<Share>{} : known->grant.shares) {
    if (share.charge <= share.granted) continue;
    keeper_->note(wanted.job, "ended: it held " + berth::to_text(share.charge) + " on GPU " +
                                  std::to_string(share.gpu.value()) + ", was granted " +
                                  berth::to_text(share.granted) +
                                  ", and the rest is granted to others");
  }
  overran_.insert({wanted.job, wanted.attempt});
  launcher_->stop(wanted.job, wanted.attempt, live::Manner::AtOnce);
}

void Daemon::launch(JobId job, Attempt attempt, const Grant& grant) {
  if (const auto before = current_.find(job); before != current_.end()) {
    if (before->second != attempt) forget(job, before->second);
  }
  current_[job] = attempt;
  keeper_->note(job, "");  // what is said of this attempt comes now
  watcher_.changed(live::gpus_of(grant), clock_.now());
  const auto order = order_of(job, attempt, grant);
  const auto launched = order ? launcher_->launch(*order) : std::unexpected(order.error());
  if (launched) return;
  on_failed_start(job, attempt, launched.error().message);
}

Expected<shim::Order> Daemon::order_of(JobId job, Attempt attempt, const Grant& grant) const {
  const Job* const known = keeper_->engine().view().find(job);
  if (known == nullptr) return fail(ErrorCode::NotFound, "the engine does not know it");
  const auto blob = keeper_->store().blob(known->spec.command);
  if (!blob) return std::unexpected(blob.error());
  const auto command = live::decode_command(*blob);
  if (!command) return std::unexpected(command.error());
  const auto variables = keeper_->store().blob(command->environment);
  if (!variables) return std::unexpected(variables.error());
  const auto decoded = live::decode_environment(*variables);
  if (!decoded) return std::unexpected(decoded.error());

  Environment environment(*decoded);
  for (const auto& [name, value] : machine_.environment) {
    if (name == "LD_LIBRARY_PATH") {
      environment.prepend(name, value);
    } else {
      environment.set(name, value);
    }
  }
  environment.set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  environment.set("CUDA_VISIBLE_DEVICES", visible_list(live::gpus_of(grant)));
  environment.set("BERTH_JOB_ID", std::to_string(job.value()));
  environment.set("BERTH_ATTEMPT", std::to_string(attempt.value()));
  environment.set("BERTH_REPORT", report_path());
  if (known->spec.request.gpu.vram != Bytes(0)) {
    environment.set("BERTH_VRAM_BYTES", std::to_string(known->spec.request.gpu.vram.raw()));
  }
  environment.set_unless_there("PYTHONUNBUFFERED", "1");
  for (const auto& [name, value] : hints(*known, grant)) {
    environment.set_unless_there(name, value);
  }

  shim::Order order;
  order.job = job;
  order.attempt = attempt;
  order.arguments = command->arguments;
  order.environment = environment.take();
  order.directory = command->directory;
  order.user = command->owner.user;
  order.group = command->owner.group;
  order.groups = command->owner.groups;
  order.umask = command->umask;
  order.log_cap = static_cast<std::uint64_t>(options_.log_cap.raw());
  order.grace_millis = micros(options_.grace) / 1000;
  order.attach = command->attach;
  order.cgroup = make_cgroup(options_.cgroup, job, attempt);
  return order;
}

/// By the smallest of its cards; a job that has them alone may take all of them.
Variables Daemon::hints(const Job& job, const Grant& grant) const {
  if (grant.shares.empty() || job.spec.request.gpu.sharing == Sharing::Alone) return {};
  Bytes total = machine_.devices.list[grant.shares.front().gpu.value()].total;
  for (const Share& share : grant.shares) {
    total = std::min(total, machine_.devices.list[share.gpu.value()].total);
  }
  return memory_hints(job.spec.request.gpu.vram, total);
}

std::string Daemon::report_path() const { return options_.socket + ".report"; }

std::string Daemon::log_name(JobId job) const { return std::to_string(job.value()) + ".log"; }

void Daemon::forget(JobId job, Attempt attempt) {
  launcher_->forget(job, attempt);
  if (options_.cgroup.empty()) return;
  ::rmdir(cgroup_path(options_.cgroup, job, attempt).c_str());  // one that no shim came to remove
}

void Daemon::finish(const Finished& finished) {
  const auto attempt = current_.extract(finished.job);
  std::optional<Attempt> had;
  if (attempt) had = attempt.mapped();
  loop_.post([this, job = finished.job, had] {  // later: the next launch does not wait for it
    if (had) forget(job, *had);
    logs_->ended(log_name(job));
  });
}

}  // namespace berth::daemon
