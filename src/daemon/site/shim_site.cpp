#include "daemon/site/shim_site.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "core/text/text.hpp"
#include "daemon/limits/own_cgroup.hpp"
#include "daemon/machine/order.hpp"
#include "daemon/settings/known_gpus.hpp"
#include "gpu/kept_gpus.hpp"
#include "posix/small_file.hpp"

namespace berth::daemon {

namespace {

constexpr std::string_view kStatusUnknown =
    "its exit status is not known, because berth did not start it";
constexpr std::int64_t kNearlyFull = 50;  ///< Of a GPU, a part this small is as good as nothing.

/// Emulated GPUs have no device files, unless a folder says otherwise.
std::span<const Device> device_files_of(const Machine& machine, const Options& options) {
  if (machine.emulated && options.device_folder.empty()) return {};
  return machine.devices.list;
}

DeviceRulesOptions device_rules_options(const Options& options) {
  DeviceRulesOptions rules{
      .cgroup = options.cgroup, .is_wanted = options.device_rules, .folders = {}};
  if (options.device_folder.empty()) return rules;
  rules.folders = {.nodes = options.device_folder,
                   .capabilities = options.device_folder + "/capabilities"};
  return rules;
}

/// `run no kernel since 12:00:00`.
std::string idle_words(const Idleness& idle) {
  const std::time_t seconds = micros(idle.since) / 1'000'000;
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%H:%M:%S", &parts);
  const std::string what = idle.holds ? "run no kernel" : "used none of its GPUs";
  return what + " since " + text.data();
}

}  // namespace

// ---- A start of the daemon -------------------------------------------------------------------

Expected<void> ShimSite::find_cgroup(Options& options) {
  std::string& cgroup = options.cgroup;
  const bool is_asked = cgroup == "auto";
  if (!is_asked && !cgroup.empty()) {
    if (cgroup == "none") cgroup.clear();
    if (!cgroup.empty() && !is_cgroup_folder(cgroup)) {
      options.warnings.push_back("cgroup: '" + cgroup + "' is no folder of cgroup v2");
    }
    return {};
  }
  auto found = folder_of_own_cgroup(is_asked ? CgroupAsked::Own : CgroupAsked::Nothing);
  if (!found && is_asked) {
    return fail(ErrorCode::InvalidArgument, "cgroup = \"auto\": " + found.error().message);
  }
  if (!found) options.warnings.push_back("jobs have no cgroups: " + found.error().message);
  cgroup = found ? std::move(*found) : "";
  return {};
}

Expected<Machine> ShimSite::machine(const Options& options) {
  gpus_path_ = options.state + "/gpus";
  known_ = read_gpus(read_small_file(gpus_path_));
  return open_machine(options);
}

void ShimSite::plan_change(live::Opening& opening, const Machine& machine) const {
  opening.change = live::Opening::Change::Waits;
  opening.has_lost_gpus = known_ && has_only_lost(*known_, machine.devices.list);
}

void ShimSite::settle_machine(Machine& machine, const live::Keeper& keeper) {
  const ClusterView view = keeper.engine().view();
  if (!keeper.kept_cluster().empty()) machine.notes.push_back(keeper.kept_cluster());
  bool has_processes = false;
  view.for_each_job([&](const Job& job) {
    has_processes = has_processes || holds_berth(job.state) || has_idle_process(job);
  });
  if (known_ && !are_of(*known_, view.cluster())) known_.reset();
  if (!keeper.kept_cluster().empty() || (has_processes && known_)) {
    keep_gpus(machine, known_ ? *known_ : gpus_as_of(view.cluster()), view.cluster());
  }
  remember_gpus(gpus_path_, machine.devices.list);
}

Expected<Site::Attached> ShimSite::attach(const Surroundings& around) {
  around_.emplace(around);
  oom_words_ = OomWords(around.options.oom_words);
  auto keys = JobKeys::open(around.options.state + "/job-key");
  if (!keys) return std::unexpected(keys.error());
  keys_ = std::move(*keys);
  if (auto done = open_launcher(); !done) return std::unexpected(done.error());
  if (auto done = open_reports(); !done) return std::unexpected(done.error());
  open_driver();
  open_executor();
  limit_signals_ =
      std::make_unique<LimitSignals>(around.loop, around.keeper, around.clock, *launcher_);
  return Attached{.executor = *executor_, .eyes = probe_.get()};
}

void ShimSite::begin(live::Conductor& conductor) {
  conductor_ = &conductor;
  open_idle_watch();
  view().for_each_job([this](const Job& job) {
    if (!has_idle_process(job)) return;
    if (around_->keeper.note_of(job.id).starts_with(live::kBecause)) return;
    note(job.id, live::suspended_note(suspender().bytes_of(job.id)));
  });
  reports_->come_back();
}

Expected<void> ShimSite::open_launcher() {
  const Options& options = around_->options;
  const Hooks hooks{
      .started =
          [this](JobId job, Attempt attempt) {
            limits_->check(job, attempt);
            if (executor_->on_started(job, attempt)) conductor_->on_started(job, attempt);
          },
      .failed =
          [this](JobId job, Attempt attempt, const std::string& why) {
            executor_->on_ended(job);
            conductor_->on_failed(job, attempt, why);
          },
      .ended = [this](JobId job, Attempt attempt, const shim::Exit& exit,
                      const std::string& note) { on_ended(job, attempt, exit, note); },
      .lost =
          [this](JobId job, Attempt attempt, const std::string& note) {
            const std::string broken = executor_->on_ended(job);
            note_idle_in_past(job);
            conductor_->on_lost(job, attempt, broken.empty() ? note : broken);
          },
  };
  auto launcher = Launcher::open(around_->loop,
                                 {.shim = options.shim,
                                  .attempts = options.state + "/attempts",
                                  .logs = options.state + "/logs",
                                  .cgroup = options.cgroup,
                                  .aside = options.state + "/aside",
                                  .mark = "BERTH_REPORT=" + report_path(options),
                                  .files = raise_file_limit()},
                                 hooks);
  if (!launcher) return std::unexpected(launcher.error());
  launcher_ = std::move(*launcher);
  return {};
}

Expected<void> ShimSite::open_reports() {
  auto reports = Reports::open(
      around_->loop, report_path(around_->options), ::geteuid() == 0 ? 0666 : 0600,
      [this](JobId job, uid_t user) {
        const Job* const known = view().find(job);
        return known != nullptr && (user == 0 || known->spec.user == UserId(user));
      },
      [this](std::vector<Input> inputs) { conductor_->tell(std::move(inputs)); });
  if (!reports) return std::unexpected(reports.error());
  reports_ = std::move(*reports);
  return {};
}

void ShimSite::open_driver() {
  const Options& options = around_->options;
  const Machine& served = around_->machine;
  GpuPort* const port = served.port.get();
  limits_ =
      std::make_unique<Limits>(port, served.devices.list.size(),
                               LimitOptions{.cgroup = options.cgroup, .allowed = options.limits});
  host_limits_ = std::make_unique<HostLimits>(options.cgroup, options.host_limits);
  device_rules_ = std::make_unique<DeviceRules>(device_files_of(served, options),
                                                device_rules_options(options));
  mps_ = std::make_unique<Mps>(around_->loop,
                               MpsOptions{.folder = options.state + "/mps",
                                          .control = port != nullptr ? served.mps_control : "",
                                          .environment = served.environment});
  if (port == nullptr) return;
  probe_ = std::make_unique<Probe>(Probe::Parts{.port = *port,
                                                .clock = around_->clock,
                                                .shims = launcher_->shims(),
                                                .declarations = Declarations(*keys_)},
                                   [this](Sighting seen) {
                                     around_->loop.post([this, seen = std::move(seen)]() mutable {
                                       on_sighting(std::move(seen));
                                     });
                                   });
  faults_ = std::make_unique<Faults>(*port, [this](const GpuEvent& event) {
    around_->loop.post([this, event] {
      conductor_->on_fault(GpuId(event.device), "Xid " + std::to_string(event.xid));
    });
  });
}

void ShimSite::open_executor() {
  executor_ = std::make_unique<ShimExecutor>(
      ShimExecutor::Parts{
          .loop = around_->loop,
          .launcher = *launcher_,
          .limits = *limits_,
          .host_limits = *host_limits_,
          .device_rules = *device_rules_,
          .mps = *mps_,
          .keeper = around_->keeper,
          .options = around_->options,
          .machine = around_->machine,
          .keys = *keys_,
          .not_started =
              [this](JobId job, Attempt attempt, const std::string& why) {
                executor_->on_ended(job);
                conductor_->on_failed(job, attempt, why);
              },
          .is_partly_outside = [this](JobId job) { return is_partly_outside(job); }},
      suspender_hooks());
}

SuspenderHooks ShimSite::suspender_hooks() {
  return {
      .rooted = [this](JobId job, Attempt attempt) { conductor_->on_rooted(job, attempt); },
      .suspended =
          [this](JobId job, Attempt attempt, const std::string& note) {
            const auto ours = suspended_for_.extract(job);
            conductor_->on_suspended(job, attempt, ours ? ours.mapped() + "; " + note : note);
          },
      .suspend_failed =
          [this](JobId job, Attempt attempt, const std::string& why, Duration again) {
            const bool was_idle = suspended_for_.erase(job) > 0;
            conductor_->on_suspend_failed(
                job, attempt, was_idle ? std::string(kIdle) + "idle_suspend: " + why : why, again);
          },
      .resumed = [this](JobId job, Attempt attempt) { conductor_->on_started(job, attempt); },
      .resume_failed =
          [this](JobId job, Attempt attempt, const std::string& why) {
            conductor_->on_resume_failed(job, attempt, why);
          },
      .broken = {},
  };
}

/// A note is shown as the reason of a job that runs, and stays with one that is ended.
void ShimSite::open_idle_watch() {
  const auto note_idle = [this](JobId job, const Idleness& idle) {
    note(job, std::string(kIdle) + "it " + (idle.holds ? "holds GPU memory and has " : "has ") +
                  idle_words(idle));
  };
  idle_ = std::make_unique<IdleWatch>(
      around_->options.idle,
      IdleWatch::Hooks{
          .warn =
              [this, note_idle](JobId job, const Idleness& idle) {
                note_idle(job, idle);
                around_->announce(job, live::Occasion::Idle);
              },
          .was_warned = note_idle,
          .busy_again =
              [this](JobId job) {
                if (around_->keeper.note_of(job).starts_with(kIdle)) note(job, "");
              },
          .suspend = [this](JobId job, const Idleness& idle) { suspend_idle(job, idle); },
          .end = [this](JobId job, const Idleness& idle) { end_idle(job, idle); },
          .keep = [this](const std::string& text) { replace_small_file(idle_path(), text); }});
  idle_->restore(read_small_file(idle_path()));
}

// ---- What happens ----------------------------------------------------------------------------

void ShimSite::on_step(const live::StepTaken& step) {
  const bool moves_charges = std::ranges::any_of(step.inputs, [](const Input& input) {
    return std::holds_alternative<Measured>(input) || std::holds_alternative<Released>(input) ||
           std::holds_alternative<Shrunk>(input);
  });
  if (moves_charges || !step.effects.list.empty()) limits_->follow(view());
}

void ShimSite::on_began(const Job& job, const live::Command& command) {
  limit_signals_->on_began(job, command);
}

void ShimSite::on_reload() {
  idle_->set(around_->options.idle);
  oom_words_ = OomWords(around_->options.oom_words);
}

bool ShimSite::leave() {
  idle_->keep(now());
  const bool probe_ended = !probe_ || probe_->stop();
  const bool faults_ended = !faults_ || faults_->stop();
  const bool limits_ended = limits_->stop();
  return probe_ended && faults_ended && limits_ended;
}

void ShimSite::on_ended(JobId job, Attempt attempt, const shim::Exit& exit,
                        const std::string& note) {
  const std::string broken = executor_->on_ended(job);
  const std::string told = host_limits_told(launcher_->cgroup_of(job, attempt));
  std::string why = broken.empty() ? note : broken;
  const Job* const known = view().find(job);
  const bool ended_by_itself = exit.kind == shim::Exit::Kind::Code && why.empty();
  if (known != nullptr && is_adopted(known->spec) && ended_by_itself) why = kStatusUnknown;
  note_idle_in_past(job);
  const Outcome outcome = outcome_of(
      exit, oom_words_, [&] { return launcher_->last_words(job, attempt); }, witness_of(job));
  conductor_->on_ended(
      job, attempt,
      ending_of(exit, outcome, told + (told.empty() || why.empty() ? "" : "; ") + why,
                around_->clock));
}

/// Requires: its end is not told to the conductor yet.
Witness ShimSite::witness_of(JobId job) const {
  const Job* const known = view().find(job);
  if (known == nullptr) return {};
  if (known->grant.shares.empty()) return unwatched(*known);
  Witness witness{.peak = conductor_->watcher().peak_of(job),
                  .granted = std::ranges::min(known->grant.shares, {}, &Share::granted).granted,
                  .found_full = known->hurt_by.has_value()};
  for (const Share& share : known->grant.shares) {
    const live::Look* const look = conductor_->watcher().latest(share.gpu);
    if (look == nullptr || !look->sample) continue;
    const Bytes capacity = look->sample->total - look->sample->reserved;
    const bool is_full = look->sample->used >= capacity - Bytes(capacity.raw() / kNearlyFull);
    witness.found_full = witness.found_full || is_full;
  }
  return witness;
}

/// A process outside counts for the job whose key it has for as long as that job's shim lives and
/// it is not suspended: its memory would keep the job from leaving the GPU.
void ShimSite::on_sighting(Sighting seen) {
  std::set<JobId>& partly_outside = partly_outside_[seen.look.gpu];
  partly_outside.clear();
  const auto shims = launcher_->shims().get();
  for (const auto& [pid, job] : seen.declared) {
    const bool lives =
        std::ranges::any_of(*shims, [&](const auto& shim) { return shim.second == job; });
    if (!lives || suspender().knows(job)) continue;
    seen.look.owners[pid] = OfJob{job};
    partly_outside.insert(job);
  }
  idle_->on_look(seen.look, view(), now());
  limits_->on_look(seen.look);
  conductor_->on_look(std::move(seen.look));
}

Owner ShimSite::owner_of(pid_t pid) const {
  const auto shims = launcher_->shims().get();
  return Kinship(*shims).of(pid);
}

bool ShimSite::is_partly_outside(JobId job) const {
  return std::ranges::any_of(partly_outside_,
                             [&](const auto& entry) { return entry.second.contains(job); });
}

void ShimSite::note_idle_in_past(JobId job) {
  const std::string told = around_->keeper.note_of(job);
  if (told.starts_with(kIdle)) note(job, idle_in_past(told));
}

void ShimSite::suspend_idle(JobId job, const Idleness& idle) {
  const std::string why = "of idle_suspend: it had " + idle_words(idle);
  const Job* const known = view().find(job);
  suspended_for_[job] = std::string(live::kBecause) + why + "; berth resume " +
                        (known == nullptr ? std::to_string(job.value())
                                          : handle_of(job, known->spec.conditions->array)) +
                        " lets it go on";
  note(job, std::string(kIdle) + "it is suspended, because " + why +
                (idle.holds ? ", and held GPU memory" : ""));
  around_->announce(job, live::Occasion::Idle);
  around_->audit.add("suspend idle job " + std::to_string(job.value()), "done");
  conductor_->tell({SuspendAsked{job}});
}

void ShimSite::end_idle(JobId job, const Idleness& idle) {
  around_->keeper.note_for_good(job, std::string(live::kEnded) + "it had " + idle_words(idle) +
                                         (idle.holds ? ", holding GPU memory" : "") +
                                         " (idle_end)");
  around_->audit.add("end idle job " + std::to_string(job.value()), "done");
  conductor_->tell({CancelAsked{job}});
}

// ---- What is shown ---------------------------------------------------------------------------

Enforcers ShimSite::enforcers() const {
  return {.limits = limits_.get(),
          .mps = mps_.get(),
          .cgroup_of = [this](JobId job,
                              Attempt attempt) { return launcher_->cgroup_of(job, attempt); },
          .device_rules = device_rules_.get()};
}

}  // namespace berth::daemon
