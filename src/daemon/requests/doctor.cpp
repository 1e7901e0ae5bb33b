#include "daemon/requests/doctor.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/text/text.hpp"
#include "core/text/words.hpp"
#include "daemon/limits/measured.hpp"
#include "daemon/limits/own_cgroup.hpp"
#include "daemon/machine/host.hpp"
#include "daemon/notices/announcer.hpp"
#include "daemon/site/shim_site.hpp"
#include "engine/explain.hpp"
#include "posix/keyring.hpp"

namespace berth::daemon {

namespace {

constexpr std::int64_t kLittleSpace = std::int64_t{1} << 30;

Json check(const char* name, const char* status, const std::string& detail) {
  return {{"name", name}, {"status", status}, {"detail", detail}};
}

/// One whose sentence says it, and `more` for those who ask.
Json check(const char* name, const char* status, const std::string& detail,
           const std::string& more) {
  Json json = check(name, status, detail);
  if (!more.empty()) json["more"] = more;
  return json;
}

Json driver(const Daemon& daemon) {
  const Machine& machine = daemon.machine();
  if (!machine.no_driver.empty()) {
    return check("driver", "warn", "no GPUs: " + machine.no_driver + "; jobs without GPUs run");
  }
  if (machine.emulated) {
    return check("driver", "warn",
                 "emulated GPUs (" + daemon.options().emulate +
                     "): driver-API programs only, nothing is computed");
  }
  return check("driver", "ok",
               "NVML, driver " + machine.devices.driver_version + ", " +
                   std::to_string(machine.devices.list.size()) + " GPUs");
}

Json gpus(const Daemon& daemon) {
  std::string problems;
  for (const Device& device : daemon.machine().devices.list) {
    if (device.problem.empty()) continue;
    problems += (problems.empty() ? "GPU " : "; GPU ") + std::to_string(device.index) + ": " +
                device.problem;
  }
  const Cluster& cluster = daemon.keeper().engine().view().cluster();
  for (std::uint32_t gpu = 0; gpu < cluster.gpus().size(); ++gpu) {  // what was seen since
    const std::string problem = daemon.watcher().problem(GpuId(gpu));
    const std::string name = gpu_name(cluster, GpuId(gpu));
    if (problem.empty() || problems.contains(name + ": ")) continue;
    problems.append(problems.empty() ? "" : "; ").append(name).append(": ").append(problem);
  }
  const std::string& before = daemon.keeper().kept_cluster();
  if (!problems.empty()) {
    return check("gpus", "fail", problems + (before.empty() ? "" : "; " + before));
  }
  if (!before.empty()) return check("gpus", "warn", before);
  std::string excluded;
  const char* of_excluded = "ok";
  for (const GpuId gpu : daemon.options().exclude) {
    excluded += (excluded.empty() ? "" : ", ") + std::to_string(gpu.value());
    if (gpu.value() < daemon.machine().devices.list.size()) continue;
    excluded += " (there is none)";
    of_excluded = "warn";
  }
  if (const GivenGpus& given = daemon.given(); !given.others.empty()) {
    std::string numbers;
    for (const GpuId gpu : given.others) {
      numbers += (numbers.empty() ? "" : ", ") + std::to_string(gpu.value());
    }
    return check("gpus", of_excluded,
                 "usable, but for those that berthd was not given (" + given.by + "): " + numbers +
                     (excluded.empty() ? "" : ", and those that `exclude` names: " + excluded));
  }
  if (!excluded.empty()) {
    return check("gpus", of_excluded, "usable, but for those that `exclude` names: " + excluded);
  }
  std::string shared;
  for (const Device& device : daemon.machine().devices.list) {
    if (device.shares_memory) shared += (shared.empty() ? "" : ", ") + std::to_string(device.index);
  }
  if (daemon.machine().devices.list.empty()) return check("gpus", "warn", "there are none");
  const auto& drains = daemon.keeper().engine().view().drains();
  if (drains.size() >= daemon.machine().devices.list.size()) {
    return check("gpus", "warn", "all are drained: no job starts (berth gpus, berth undrain)");
  }
  if (shared.empty()) return check("gpus", "ok", "all usable");
  return check("gpus", "warn",
               "GPU " + shared +
                   ": the driver does not tell its memory (NOT_SUPPORTED): the host's memory and "
                   "the sum of the processes' stand for it; what other programs use of the host's "
                   "memory counts as foreign");
}

Json admission(const Daemon& daemon) {
  const AdmissionMode mode = daemon.keeper().engine().view().settings().admission.mode;
  const std::string name(word_for(mode));
  if (mode == AdmissionMode::Guarantee) {
    return check("admission", "ok", name + ": a job starts only where its memory is free");
  }
  return check("admission", "fail", name + ": jobs can run out of GPU memory by admission");
}

Json users() {
  if (::geteuid() == 0) return check("users", "ok", "each job runs as the user who submitted it");
  return check("users", "warn",
               "no root: serves uid " + std::to_string(::geteuid()) +
                   " only; other users' GPU "
                   "processes are seen as foreign");
}

Json keyrings() {
  const int error = session_keyring_error();
  if (error == 0) return check("keyrings", "ok", "each job has a session keyring of its own");
  return check("keyrings", "warn",
               std::string("jobs get no session keyring of their own (keyctl: ") +
                   std::strerror(error) +
                   "); where programs can use keys all the same, all jobs share berthd's");
}

Json pid_namespace() {
  char target[64] = {};
  const ssize_t got = ::readlink("/proc/self/ns/pid", target, sizeof target - 1);
  constexpr std::string_view kInitial = "pid:[4026531836]";
  if (got > 0 && std::string_view(target) == kInitial) {
    return check("pid namespace", "ok", "the host's: NVML's pids are ours");
  }
  return check("pid namespace", "warn",
               "not the host's: a real driver names processes that cannot be seen from here, and "
               "tenants would count as foreign");
}

Json processes(const Daemon& daemon) {
  const std::string& cgroup = daemon.options().cgroup;
  if (!cgroup.empty() && !is_cgroup_folder(cgroup)) {
    return check("process trees", "fail",
                 "cgroup " + cgroup + " is no folder of cgroup v2: they are ended by walking them");
  }
  if (!cgroup.empty()) return check("process trees", "ok", "ended by cgroup " + cgroup);
  return check("process trees", "ok",
               "ended by walking them (each job's shim is its subreaper); set `cgroup` to end them "
               "by cgroup");
}

Json host_limits_check(const ShimSite& site) {
  const std::string limited = site.host_limits().limited();
  const std::string& why_not = site.host_limits().why_not();
  if (limited.empty()) {
    return check(
        "host limits", "warn",
        "none: jobs' host memory, cores and processes are counted, not limited: " + why_not);
  }
  return check("host limits", why_not.empty() ? "ok" : "warn",
               "the kernel keeps jobs to what they asked for: " + limited +
                   (why_not.empty() ? "" : "; not: " + why_not));
}

Json device_files(const Daemon& daemon, const ShimSite& site) {
  const DeviceRules& rules = site.device_rules();
  if (rules.why_not().empty()) {
    return check("device files", "ok",
                 "a job can open those of its own GPUs only (" + std::to_string(rules.files()) +
                     " known); people who do not go through berth: doc/security.md");
  }
  if (daemon.machine().emulated) {
    return check("device files", "ok", "emulated GPUs have none to keep jobs off");
  }
  return check(
      "device files", "warn",
      "a job that ignores CUDA_VISIBLE_DEVICES reaches every GPU that its user may open: " +
          rules.why_not());
}

Json accounting(const Daemon& daemon) {
  const auto& devices = daemon.machine().devices.list;
  const auto on =
      std::ranges::count_if(devices, [](const Device& device) { return device.accounts == true; });
  if (on > 0 && on == std::ssize(devices)) {
    return check(
        "accounting", "ok",
        "on: peaks between two looks are in the peaks of jobs, of processes that a look saw");
  }
  const std::string& why = daemon.machine().no_accounts;
  if (!why.empty()) return check("accounting", "warn", "off, though `accounting` is set: " + why);
  const std::string some =
      on == 0 ? "off"
              : "on for " + std::to_string(on) + " of " + std::to_string(devices.size()) + " GPUs";
  return check("accounting", "ok",
               some +
                   ": the peaks of jobs are what looks saw; `accounting = true` in berth.toml, or "
                   "nvidia-smi -am 1, turns the driver's accounts on");
}

Json energy(const Daemon& daemon) {
  const auto& devices = daemon.machine().devices.list;
  const live::Watcher& watcher = daemon.watcher();
  const auto told = std::ranges::count_if(devices, [&](const Device& device) {
    const live::Look* const look = watcher.latest(GpuId(device.index));
    return look != nullptr && look->sample && look->sample->millijoules;
  });
  if (told > 0 && told == std::ssize(devices)) {
    return check("energy", "ok", "told by the driver, and divided among the jobs of a GPU by time");
  }
  return check("energy", "ok",
               "told of " + std::to_string(told) + " of " + std::to_string(devices.size()) +
                   " GPUs; jobs on others have none");
}

/// By what idle jobs are found on a GPU that several share.
Json idleness(const Daemon& daemon) {
  const auto& devices = daemon.machine().devices.list;
  const auto told = std::ranges::count_if(devices, &Device::tells_process_use);
  if (devices.empty()) return check("idle jobs", "ok", "no GPUs");
  if (told == std::ssize(devices)) {
    return check("idle jobs", "ok", "the driver tells what each process does, for idle_after");
  }
  return check("idle jobs", "ok",
               "the driver tells what each process does of " + std::to_string(told) + " of " +
                   std::to_string(devices.size()) +
                   " GPUs; on others idle_after does not find an idle job beside a busy one");
}

/// Why not all jobs are limited by the driver; the same words for several GPUs once. "": they are.
std::string why_no_limits(const Daemon& daemon, const ShimSite& site) {
  std::string text;
  std::string last;
  for (const Device& device : daemon.machine().devices.list) {
    if (!device.mig_profile.empty()) continue;  // apart without
    const std::string& why = site.limits().why_not(GpuId(device.index));
    if (why.empty() || why == last) continue;
    last = why;
    text += (text.empty() ? "" : "; ") + why;
  }
  return text;
}

std::string measured_text(Rung rung) {
  return " (measured on emulated GPUs: " + std::string(measured(rung)) + ")";
}

Json memory_rung(const Daemon& daemon, const ShimSite& site) {
  const Settings& settings = daemon.keeper().engine().view().settings();
  if (settings.admission.mode != AdmissionMode::Guarantee) {
    return check("memory enforcement", "fail",
                 "none: no job is ended for taking other jobs' memory" + measured_text(Rung::None));
  }
  const auto& devices = daemon.machine().devices.list;
  const auto instances = std::ranges::count_if(
      devices, [](const Device& device) { return !device.mig_profile.empty(); });
  const std::string mig =
      instances == 0
          ? ""
          : "mig on " + std::to_string(instances) + " of " + std::to_string(devices.size()) +
                " GPUs: each is an instance that one job has at a time" + measured_text(Rung::Mig) +
                "; not caught there: processes that are no job's";
  if (instances > 0 && instances == std::ssize(devices)) {
    return check("memory enforcement", "ok", mig);
  }
  const std::string before = mig.empty() ? "" : mig + "; on the others ";
  const std::string why_not = why_no_limits(daemon, site);
  if (why_not.empty() && !devices.empty()) {
    return check("memory enforcement", "ok",
                 before +
                     "driver: what a job allocates beyond its charge and a margin fails at "
                     "the call" +
                     measured_text(Rung::Driver),
                 "not caught: managed memory, processes that leave the job's cgroup");
  }
  const std::string victim = daemon.options().again_after_overrun
                                 ? "is told which job was at fault, and runs again"
                                 : "is told which job was at fault";
  return check(
      "memory enforcement", "warn",
      before +
          "watch: a job that takes more than it asked for is ended once others were "
          "granted the memory" +
          measured_text(Rung::Watch),
      "not caught: two looks are up to " + seconds_text(daemon.options().probe) + " s apart, " +
          seconds_text(daemon.options().probe_fast) +
          " s where a job grows, and an allocation of another's can fail meanwhile: that job " +
          victim + "; driver limits: " + why_not);
}

Json mps(const ShimSite& site) {
  const std::string why_not = site.why_no_mps();
  if (!why_not.empty()) {
    return check("mps", "ok",
                 "none: " + why_not +
                     "; --share mps is refused, and under a policy that shares by MPS jobs take "
                     "turns");
  }
  return check(
      "mps", "ok",
      "a server for each user and set of GPUs with jobs of --share mps, or of a policy that chose "
      "it, which keeps each of their processes to its memory" +
          measured_text(Rung::Mps),
      "not caught: several processes of a job together, one that changes its environment; a "
      "fatal fault of one job ends the others of its user there, and nobody else's");
}

/// What becomes of a preempted job that is not suspended.
std::string without_suspension(PreemptBy by) {
  return by == PreemptBy::Signal ? "only jobs that save their state (--on-preempt) are preempted"
                                 : "a preempted job begins again, from nothing unless it saves its "
                                   "state (--on-preempt)";
}

Json suspension(const Daemon& daemon, const ShimSite& site) {
  const std::string& no = daemon.machine().no_suspension;
  const PreemptBy by = daemon.options().preempt_by;
  if (!no.empty()) {
    return check("suspension", "warn",
                 "jobs cannot be suspended: " + no + "; " + without_suspension(by));
  }
  const Suspender& suspender = site.suspender();
  const std::string how = "berth suspend takes a job's memory off its GPUs; " +
                          to_text(suspender.used()) + " of " + to_text(suspender.room()) +
                          " of host memory taken; processes are frozen by " +
                          (is_cgroup_folder(daemon.options().cgroup) ? "cgroup" : "signals");
  if (by == PreemptBy::Suspend) {
    return check("suspension", "ok",
                 how + "; a preempted job is suspended, or saves its state (--on-preempt)");
  }
  const std::string word = by == PreemptBy::Signal ? "signal" : "restart";
  return check("suspension", "warn",
               how + "; preempt_by is " + word + ": " + without_suspension(by));
}

/// What berthd itself takes of it, and for how long.
Json kept(const Daemon& daemon) {
  std::string text;
  Bytes size(0);
  for (const char* const part : {"", "-wal", "-shm"}) {
    struct stat status{};
    const std::string path = daemon.options().state + "/journal.db" + part;
    if (::stat(path.c_str(), &status) == 0) size += Bytes(status.st_blocks * 512);
  }
  if (size > Bytes(0)) {
    text = "journal " + to_text(size);
    const auto unused = daemon.keeper().store().unused();
    if (unused && *unused > Bytes(0)) text += " (" + to_text(*unused) + " of it free inside)";
    const auto can_be_cut = daemon.keeper().store().can_be_cut();
    if (can_be_cut && !*can_be_cut) {
      text += ", which does not shrink before it is rewritten (doc/journal-format.md)";
    }
  }
  if (const auto& used = daemon.retention().used()) {
    text += ", " + std::to_string(used->logs) + (used->logs == 1 ? " log of " : " logs of ") +
            to_text(used->size);
  }
  const RetentionRules& rules = daemon.options().retention;
  const bool is_for_ever = rules.jobs == kForever && rules.logs == kForever &&
                           rules.logs_size == Bytes(0) && !rules.bounds_users();
  if (is_for_ever) text += "; kept for ever: keep_jobs, keep_logs and keep_logs_size are not set";
  if (rules.jobs != kForever) text += "; jobs are kept " + duration_text(rules.jobs);
  if (rules.logs != kForever) text += "; logs are kept " + duration_text(rules.logs);
  if (rules.logs_size > Bytes(0)) text += "; logs take " + to_text(rules.logs_size) + " at most";
  if (rules.user_logs_size > Bytes(0)) {
    text += "; those of one user take " + to_text(rules.user_logs_size) + " at most";
  }
  if (const Bytes most = daemon.options().user_environments; most > Bytes(0)) {
    text += "; commands and environments of one user's jobs take " + to_text(most) + " at most";
  }
  if (rules.jobs < hours(24)) {
    return check("disk use", "warn",
                 text +
                     "; what is kept less than a day is gone from berth history and berth usage "
                     "by the next (m is minutes, d is days)");
  }
  return check("disk use", "ok", text);
}

/// Since berthd started; what it read then is in force.
Json configuration(const Daemon& daemon) {
  const std::string& problem = daemon.reload_problem();
  if (problem.empty()) return check("configuration", "ok", "in force");
  return check("configuration", "warn", problem);
}

/// Setting the clock moves nothing under a berthd that runs, so they may differ by a little.
Json clock(const Daemon& daemon) {
  constexpr Duration kOdd = minutes(10);
  const Instant now = daemon.now();
  const Instant wall = Clock::wall();
  if (now > wall + kOdd) return check("clock", "warn", ahead_text(now, wall));
  if (wall > now + kOdd) {
    return check("clock", "warn",
                 "the machine's clock was set forward from " + date_text(now) + " to " +
                     date_text(wall) +
                     " under berthd, which goes on as before; a start of berthd "
                     "while no job runs takes it over" +
                     (is_far_ahead(wall, now) ? ", with --trust-clock, since it is so far ahead: "
                                                "if it is wrong, set it"
                                              : ""));
  }
  return check("clock", "ok", "as the machine's");
}

/// Jobs that a start of berthd could not go on with, until somebody removes what is kept of them.
Json aside(const Daemon& daemon) {
  const std::string folder = daemon.options().state + "/aside";
  std::vector<std::string> jobs;
  std::error_code over;
  for (std::filesystem::directory_iterator file(folder, over), end; !over && file != end;
       file.increment(over)) {
    const std::string name = file->path().filename().string();
    if (name.starts_with("job-")) jobs.push_back(name.substr(4));
  }
  if (jobs.empty()) return check("put aside", "ok", "no job");
  std::ranges::sort(jobs);
  constexpr std::size_t kNamed = 8;
  std::string text = jobs.size() == 1 ? "job " : "jobs ";
  for (std::size_t i = 0; i < std::min(kNamed, jobs.size()); ++i) {
    text += (i == 0 ? "" : ", ") + jobs[i];
  }
  if (jobs.size() > kNamed) text += " and " + std::to_string(jobs.size() - kNamed) + " more";
  return check("put aside", "warn",
               text + " could not be gone on with when berthd started: berth show says why, " +
                   folder + "/job-N what is known; submit again, then remove the file");
}

/// Whether what users ask for by --notify, and `notify_command`, has a program to be sent by.
Json notifications(const Daemon& daemon) {
  std::string text;
  for (const std::string& to : {std::string("user@host"), std::string("https://host")}) {
    const std::string why = why_untold(to);
    if (!why.empty()) text += (text.empty() ? "" : "; ") + why;
  }
  const std::string& all = daemon.options().notify_command;
  if (const std::string why = all.empty() ? "" : why_untold(all); !why.empty()) {
    return check("notifications", "fail", "notify_command reaches nobody: " + why);
  }
  const std::size_t failed = daemon.announcer().failures();
  const std::string since = failed == 0
                                ? ""
                                : "; the latest message of " + std::to_string(failed) +
                                      (failed == 1 ? " job" : " jobs") +
                                      " failed since berthd began: berth show tells its user why";
  if (text.empty()) {
    return check("notifications", "ok", "by mail, by web address and by command" + since);
  }
  return check("notifications", "warn", text + "; --notify COMMAND works" + since);
}

}  // namespace

Json policy_check(const Daemon& daemon) {
  const std::uint64_t dropped = daemon.keeper().engine().dropped();
  const std::string& because = daemon.options().policy_because;
  const std::string name = daemon.options().rules.policy +
                           (because.empty() ? "" : " (auto, as " + because + ")") +
                           " with placement " + daemon.options().rules.place;
  if (dropped > 0) {
    return check("policy", "fail",
                 name + ": " + std::to_string(dropped) + " decisions were not valid and dropped");
  }
  const ClusterView view = daemon.keeper().engine().view();
  const std::string slow =
      slow_turns_text(daemon.turns(), view.job_count() - view.running().size());
  return check("policy", slow.empty() ? "ok" : "warn", slow.empty() ? name : name + ": " + slow);
}

Json disk_check(const Daemon& daemon) {
  if (const auto& problem = daemon.unwritten()) {
    return check("disk", "fail", problem->message + ": " + kUnwritten);
  }
  const auto space = Host::room_near(daemon.options().state);
  if (!space) return check("disk", "fail", space.error().message);
  const std::string detail = daemon.options().state + ": " + to_text(*space) + " free";
  if (*space < journal::kReserve) {
    return check("disk", "fail",
                 detail + ", jobs are taken in from " + to_text(journal::kReserve) + " on");
  }
  return check("disk", space->raw() < kLittleSpace ? "warn" : "ok", detail);
}

Json ShimSite::examine(const Daemon& daemon) const {
  return {driver(daemon),
          gpus(daemon),
          admission(daemon),
          policy_check(daemon),
          users(),
          keyrings(),
          pid_namespace(),
          processes(daemon),
          host_limits_check(*this),
          device_files(daemon, *this),
          memory_rung(daemon, *this),
          accounting(daemon),
          energy(daemon),
          idleness(daemon),
          mps(*this),
          suspension(daemon, *this),
          notifications(daemon),
          disk_check(daemon),
          kept(daemon),
          configuration(daemon),
          clock(daemon),
          aside(daemon)};
}

std::string slow_turns_text(const Loop::Turns& turns, std::size_t waiting) {
  constexpr std::int64_t kMany = 20;  // a start and a large request may take long as well
  if (turns.long_ones < kMany) return "";
  const auto in_ms = [](Duration time) { return std::to_string(micros(time) / 1000) + " ms"; };
  return std::to_string(turns.long_ones) + " turns took more than " + in_ms(Loop::kLongTurn) +
         " of a processor, the longest " + in_ms(turns.work) + ", and requests waited meanwhile; " +
         std::to_string(waiting) +
         " jobs wait now; `berth policies NAME` says what a decision of a policy costs";
}

Json examine(const Daemon& daemon) { return {{"checks", daemon.site().examine(daemon)}}; }

}  // namespace berth::daemon
