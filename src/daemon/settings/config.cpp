#include "daemon/settings/config.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <utility>

#include "core/base/limits.hpp"
#include "core/base/suggest.hpp"
#include "core/knowledge/past_runs.hpp"
#include "core/text/toml_bytes.hpp"
#include "daemon/settings/config_value.hpp"
#include "policy/registry.hpp"

namespace berth::daemon {

namespace {

/// The member of a member that `Path` leads to.
template <auto... Path>
constexpr auto& option_at(auto& options) {
  return (options.*....*Path);
}

/// What `Path` leads to, for a row, with a reader of its own.
template <Expected<void> (*Read)(Options&, const ConfigValue&), auto... Path>
constexpr ConfigOption read_by{
    .read = Read,
    .same = [](const Options& a,
               const Options& b) { return option_at<Path...>(a) == option_at<Path...>(b); },
    .take = [](Options& options,
               const Options& from) { option_at<Path...>(options) = option_at<Path...>(from); },
};

template <auto... Path>
Expected<void> read_option(Options& options, const ConfigValue& value) {
  return value.into(option_at<Path...>(options));
}

template <auto... Path>
constexpr ConfigOption kept_in = read_by<read_option<Path...>, Path...>;

/// What stands behind a key of a policy, as a text would have it: a list has colons between.
std::optional<std::string> key_text(const toml::node& node) {
  if (auto text = node.value_exact<std::string>()) return text;
  if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
  if (const auto factor = node.value_exact<double>()) {
    std::ostringstream text;
    text << *factor;
    return text.str();
  }
  const toml::array* const list = node.as_array();
  if (list == nullptr) return std::nullopt;
  std::string all;
  for (const toml::node& each : *list) {
    const auto number = each.value_exact<std::int64_t>();
    if (!number) return std::nullopt;
    all += (all.empty() ? "" : ":") + std::to_string(*number);
  }
  return all;
}

/// `policy = "las:quantum=1m"`, or a table of `name` and of tables of keys by name.
Expected<void> read_named(std::string& target, std::map<std::string, NamedKeys>& tables,
                          const ConfigValue& value, Expected<Chosen> (*check)(const NamedKeys&)) {
  if (!value.node.is_table()) return value.into(target);
  return value.each_entry("", [&](const std::string& name, const ConfigValue& entry) {
    if (name == "name") return entry.into(target);
    NamedKeys named{.name = name, .keys = {}};
    const auto add = [&](const std::string& key, const ConfigValue& of) -> Expected<void> {
      const auto text = key_text(of.node);
      if (!text) return of.refuse("must be a string, a number or a list of numbers");
      named.keys.emplace_back(key, *text);
      return {};
    };
    auto done = entry.each_entry("must be a table of keys and values", add);
    if (!done) return done;
    if (const auto chosen = check(named); !chosen) done = entry.refuse(chosen.error().message);
    tables[name] = std::move(named);
    return done;
  });
}

Expected<void> read_policy(Options& options, const ConfigValue& value) {
  return read_named(options.rules.policy, options.policy_keys, value,
                    [](const NamedKeys& named) { return choose(to_text(named)); });
}

Expected<void> read_place(Options& options, const ConfigValue& value) {
  return read_named(options.rules.place, options.place_keys, value,
                    [](const NamedKeys& named) { return choose("fifo", to_text(named)); });
}

Expected<void> read_speeds(Options& options, const ConfigValue& value) {
  return value.into(options.speeds);
}

/// `"speeds"`, or values by type.
Expected<void> read_gpu_values(Options& options, const ConfigValue& value) {
  options.gpu_values.reset();
  if (value.text() == "speeds") return {};
  GpuValues& values = options.gpu_values.emplace();
  const auto read = [&](const std::string& type, const ConfigValue& entry) -> Expected<void> {
    if (auto done = entry.weight_into(values[type]); !done) return done;
    if (values[type] <= kMostValue) return {};
    return entry.refuse("must be a value from 0.001 to 1000");
  };
  return value.each_entry("must be \"speeds\", or a table of GPU types and values", read);
}

/// `"keep"`, or the profiles to cut.
Expected<void> read_mig(Options& options, const ConfigValue& value) {
  constexpr std::size_t kMost = 7;
  std::vector<std::string> profiles;
  const auto done = value.into_list(profiles, "", ConfigValue::word_in);
  const bool is_list = done && !profiles.empty() && profiles.size() <= kMost;
  if (!is_list && value.text() != "keep") {
    return value.refuse("must be \"keep\", or a list of 1 to " + std::to_string(kMost) +
                        " profiles to cut each GPU with MIG on into, as [\"3g.40gb\"]");
  }
  options.mig_profiles = std::move(profiles);
  return {};
}

/// Of several groups the larger limit counts; 0 is none, which is the largest.
template <class Number>
void take_larger(std::optional<Number>& known, const std::optional<Number>& other) {
  if (!other) return;
  const bool is_larger = !known || *other == Number(0) || (*known != Number(0) && *other > *known);
  if (is_larger) known = other;
}

/// Of several groups the one that lets jobs start soonest counts.
void take_sooner(std::optional<Sharing>& known, const std::optional<Sharing>& other) {
  const bool is_sooner = known == Sharing::Alone || other == Sharing::AtOnce;
  if (other && (!known || is_sooner)) known = other;
}

void merge_limits(OwnLimits& known, const OwnLimits& other) {
  take_larger(known.gpus, other.gpus);
  take_larger(known.jobs, other.jobs);
  take_larger(known.weight_milli, other.weight_milli);
  take_larger(known.logs, other.logs);
  take_sooner(known.share, other.share);
  if (other.submit) known.submit = known.submit.value_or(false) || *other.submit;
}

/// A table of tables, by the names of users or groups.
Expected<void> read_own_limits(const ConfigValue& value, const std::string& what,
                               std::optional<std::vector<uid_t>> (*users_of)(std::string_view),
                               std::map<UserId, OwnLimits>& target) {
  const auto read = [&](const std::string& name, const ConfigValue& entry) {
    const auto users = users_of(name);
    if (!users) {
      if (auto fine = entry.left_out(name, what); !fine) return fine;
    }
    OwnLimits own;
    auto done = entry.into(own);
    for (const uid_t user : users.value_or(std::vector<uid_t>())) {
      merge_limits(target[UserId(user)], own);
    }
    return done;
  };
  return value.each_entry("must be a table of names, each with gpus and jobs", read);
}

Expected<void> read_users(Options& options, const ConfigValue& value) {
  const auto users_of = [](std::string_view name) {
    const auto user = number_of_user(name);
    return user ? std::optional(std::vector<uid_t>{*user}) : std::nullopt;
  };
  return read_own_limits(value, "user", users_of, options.of_users);
}

Expected<void> read_groups(Options& options, const ConfigValue& value) {
  return read_own_limits(value, "group", members_of_group, options.of_groups);
}

constexpr Applies kNow = Applies::Now;
constexpr Applies kNextStart = Applies::NextStart;
constexpr std::int64_t kMostCores = limits::kMostCores.raw() / 1000;

constexpr auto kKeys = std::to_array<ConfigKey>({
    {"state", "\"/var/lib/berth\"", kNextStart, kept_in<&Options::state>,
     "folder of the journal, logs and files; of a user who is not root `~/.local/state/berth`"},
    {"socket", "\"/run/berth.sock\"", kNextStart, kept_in<&Options::socket>,
     "path of the API's socket; of another user `$XDG_RUNTIME_DIR/berth.sock`, or without that "
     "variable `~/.local/state/berth/berth.sock`"},
    {"emulate", "", kNextStart, kept_in<&Options::emulate>,
     "emulated GPUs instead of the machine's: `\"2x24GiB\"`, `\"2x24GiB,interference=20%\"`, "
     "`\"2x24GiB,driver=615\"`, `\"4x80GiB,links=0-1+2-3\"` (emulator.md)"},
    {"nvml", "", kNextStart, kept_in<&Options::nvml>,
     "path or name of the NVML library; none: `libnvidia-ml.so.1`"},
    {"policy", "\"auto\"", kNextStart, read_by<read_policy, &Options::rules, &live::Rules::policy>,
     "the policy, which orders jobs, with or without keys: `\"las:quantum=1m\"` (policies.md); "
     "`\"auto\"`: `turns` where jobs can be suspended and `suspend_host_memory` is at least the "
     "memory of the GPUs, else `headroom`"},
    {"place", "\"least-shared\"", kNextStart,
     read_by<read_place, &Options::rules, &live::Rules::place>,
     "the placement, which chooses GPUs; likewise"},
    {"admission", "\"guarantee\"", kNextStart,
     kept_in<&Options::rules, &live::Rules::settings, &Settings::admission, &Admission::mode>,
     "`guarantee`, `declared`, `free-memory` or `none`; under the last three jobs can run out of "
     "memory, and real GPUs need `--unsafe`"},
    {"slots", "4", kNextStart, kept_in<&Options::slots>, "most jobs on one GPU at the same time",
     ConfigRange{1, kMostTenants}},
    {"cores", "", kNextStart, kept_in<&Options::cores>,
     "cores that all jobs together may ask for; none: the machine's", ConfigRange{0, kMostCores}},
    {"default_cpus", "1", kNow, kept_in<&Options::default_cpu>,
     "cores of a job without GPUs that states none; 0: any number of such jobs run at once",
     ConfigRange{0, kMostCores}},
    {"longest_time", "", kNow, kept_in<&Options::longest_time>,
     "longest time limit of a job: a longer `--time` is refused, a job without one has this limit; "
     "of jobs that are submitted or changed from then on"},
    {"share", "\"patient\"", kNow, kept_in<&Options::sharing, &SharingRules::of_all>,
     "how a job shares its GPUs that does not say `--share`: `\"patient\"`: the policy may let it "
     "wait before it joins other jobs (headroom.md), but not a job of class `service`, nor `berth "
     "run` at a terminal; `\"now\"`: it joins them as soon as there is memory for it; "
     "`\"never\"`: it has its GPUs alone; `share` in `users` and `groups` takes precedence"},
    {"again_after_overrun", "true", kNextStart, kept_in<&Options::again_after_overrun>,
     "a job that another job's overrun ended runs again, from its old place in the queue"},
    {"overuse", "\"keep\"", kNow, kept_in<&Options::overuse>,
     "what happens to a job that holds more GPU memory than it was granted while a job waits that "
     "would fit without the surplus: `\"keep\"`: nothing; `\"warn\"`: `berth ls` and `show` say "
     "so, and `--notify-on overuse`; `\"end\"`: it is ended as `oom`, and with `--retries` started "
     "again with a request of what it held (memory-limits.md)"},
    {"oom_words", "", kNow, kept_in<&Options::oom_words>,
     "more texts by which programs say that they ran out of GPU memory, such as `[\"mylib: no "
     "device memory\"]`, beside those of the frameworks that berth knows (daemon.md); in any case "
     "of letters, `*` for anything in the same line"},
    {"context", "\"1GiB\"", kNextStart, kept_in<&Options::context>,
     "memory of a process on a real GPU beside its allocations, for its context and CUDA's "
     "libraries; PyTorch took 0.71 to 0.76 GiB on an H100 (results/gpu.md)"},
    {"guard", "\"512MiB\"", kNow,
     kept_in<&Options::rules, &live::Rules::settings, &Settings::admission,
             &Admission::guard_floor>,
     "memory that stays free on a shared GPU; 2 % of the GPU if that is more"},
    {"user_gpus", "0", kNow,
     kept_in<&Options::rules, &live::Rules::settings, &Settings::limits, &UserLimits::gpus>,
     "limit of GPUs in use of a user; 0: no limit", ConfigRange{0, kMostUserLimit}},
    {"user_jobs", "0", kNow,
     kept_in<&Options::rules, &live::Rules::settings, &Settings::limits, &UserLimits::jobs>,
     "limit of running jobs of a user; 0: no limit", ConfigRange{0, kMostUserLimit}},
    {"user_queue", "2000000", kNextStart, kept_in<&Options::user_queue>,
     "limit of waiting and running jobs of a user; 0: no limit", ConfigRange{0, 1 << 30}},
    {"user_environments_size", "", kNextStart, kept_in<&Options::user_environments>,
     "limit of the size of the commands and environments of a user's waiting and running jobs; a "
     "submission beyond it is refused. Equal environments count once"},
    {"half_life", "\"7d\"", kNow,
     kept_in<&Options::rules, &live::Rules::settings, &Settings::service_half_life>,
     "time after which past service of a user counts half"},
    {"probe", "\"1s\"", kNextStart, kept_in<&Options::probe>,
     "time between two samples of the GPUs"},
    {"probe_fast", "\"10ms\"", kNextStart, kept_in<&Options::probe_fast>,
     "shortest time between two samples of a GPU on which a job grows; five times that after a "
     "start or if memory is tight (gpu.md); with a value of `probe` or more there are no such "
     "samples",
     ConfigRange{.least_amount = "1ms"}},
    {"grace", "\"10s\"", kNextStart, kept_in<&Options::grace>, "time between SIGTERM and SIGKILL"},
    {"log_cap", "\"1GiB\"", kNextStart, kept_in<&Options::log_cap>,
     "limit of the output that is saved of an attempt; of what comes after it the last 16 KiB are "
     "saved when it ends, and searched for words of out of memory"},
    {"learn_memory", "true", kNextStart, kept_in<&Options::rules, &live::Rules::learn_memory>,
     "a job without `--vram` is charged by the peaks of earlier runs of its program and a margin "
     "(daemon.md), instead of a whole GPU"},
    {"learn_run_times", "true", kNextStart, kept_in<&Options::rules, &live::Rules::learn_run_times>,
     "a job without an estimate gets the median run time of its user's earlier runs of the same "
     "program (daemon.md); no job is ended by it"},
    {"learn_run_times_after", "5", kNextStart,
     kept_in<&Options::rules, &live::Rules::learn_run_times_after>,
     "with fewer runs of a program its run time is unknown", ConfigRange{1, PastRuns::kMostRuns}},
    {"speeds", "", kNextStart, read_by<read_speeds, &Options::rules, &live::Rules::speeds>,
     "for policies that read speeds: file of the speeds of models, as `berth sim --speeds` reads "
     "it (simulator.md); a job names its row with `berth submit --model`"},
    {"limits", "[\"driver\", \"watch\"]", kNextStart, kept_in<&Options::limits>,
     "what may keep jobs to their GPU memory, best first: the driver's limits of cgroups, which "
     "need `cgroup`, root and a driver from r615 on, else watching (memory-limits.md); with "
     "`[\"watch\"]` berthd does not change the driver's limits"},
    {"preempt_by", "\"suspend\"", kNextStart, kept_in<&Options::preempt_by>,
     "what happens to a preempted job: it is suspended, with its memory in host memory, or with "
     "`\"restart\"` it begins again. Jobs with `--on-preempt` save their state and begin again "
     "from it; with `\"signal\"` only these jobs are preempted. On a machine that cannot suspend, "
     "a policy that preempts needs `\"signal\"` or `\"restart\"` (suspend.md)"},
    {"preemption.most", "3", kNow,
     kept_in<&Options::rules, &live::Rules::bounds, &PreemptionBounds::most>,
     "with `preempt_by = \"restart\"`, most preemptions of a job that does not save its state; 0: "
     "none",
     ConfigRange{0, 1 << 20}},
    {"preemption.lost", "\"1h\"", kNow,
     kept_in<&Options::rules, &live::Rules::bounds, &PreemptionBounds::lost>,
     "likewise run time, all attempts together, after which a job is no longer preempted, so it "
     "never loses more than that"},
    {"suspend_host_memory", "", kNextStart, kept_in<&Options::suspend_memory>,
     "limit of the host memory that suspended jobs' GPU memory may take; none: half of what is "
     "available when berthd starts, and 1 TiB with emulated GPUs, which take none"},
    {"suspend_patience", "\"30s\"", kNextStart, kept_in<&Options::suspend_patience>,
     "time for a call of the driver that suspends or resumes a job, beside a second per 256 MiB"},
    {"vram_shrink", "", kNextStart, kept_in<&Options::shrinks>,
     "users whose jobs are charged what they hold, after a warm-up, unless they are submitted with "
     "`--vram-shrink no` (memory-limits.md)"},
    {"vram_shrink_after", "\"10m\"", kNextStart, kept_in<&Options::shrink_after>,
     "the warm-up: time from a job's first measurement until its charge may fall"},
    {"mig", "\"keep\"", kNextStart, read_by<read_mig, &Options::mig_profiles>,
     "`[\"3g.40gb\", \"2g.20gb\"]`: each idle GPU with MIG on is cut into these when berthd starts "
     "(mig.md)"},
    {"cgroup", "", kNextStart, kept_in<&Options::cgroup>,
     "cgroup v2 folder that berthd may write: each attempt gets a group there, by which it is "
     "ended and kept to its `host_limits`; `\"auto\"`: what systemd gives berthd (host-limits.md), "
     "and an error where it gives nothing; none: the same without an error; `\"none\"`: no groups"},
    {"host_limits", "[\"memory\", \"cores\", \"processes\"]", kNextStart,
     kept_in<&Options::host_limits>,
     "what the kernel limits for each job in its cgroup: the host memory (`--mem`), cores "
     "(`--cpus`) and processes (`--pids`) that it asked for (host-limits.md)"},
    {"device_rules", "true", kNextStart, kept_in<&Options::device_rules>,
     "the kernel denies jobs the device files of GPUs that are not theirs, if berthd is root and "
     "`cgroup` is set (security.md)"},
    {"device_folder", "", kNextStart, kept_in<&Options::device_folder>,
     "where these files are, for tests; none: in `/dev`, and emulated GPUs have none"},
    {"job_groups", "", kNow, kept_in<&Options::job_groups>,
     "unix groups, such as `[\"gpu-jobs\"]`, that jobs with GPUs get beside those of their user, "
     "if berthd is root, so that people without berth cannot open the GPUs (security.md)"},
    {"accounting", "false", kNextStart, kept_in<&Options::accounting>,
     "berthd turns the driver's accounting mode on when it starts, so that peaks between two "
     "samples count too (gpu.md). With false the mode stays as it is"},
    {"idle_after", "", kNow, kept_in<&Options::idle, &IdleRules::after>,
     "time without a kernel after which a job that has GPUs is reported as idle, in `berth ls` and "
     "`show` and by `--notify-on idle`, also one that compiles or loads and has not touched them "
     "since its start. The time starts again when a sample shows a kernel of the job on any of its "
     "GPUs, or of any job there if the driver does not say whose (`berth doctor`: idle jobs). It "
     "goes on over a restart of berthd of less than a minute"},
    {"idle_suspend", "", kNow, kept_in<&Options::idle, &IdleRules::suspend>,
     "time after which such a job is suspended (suspend.md); its owner resumes it. Refused on a "
     "machine that cannot suspend jobs; a job that cannot be runs on, and `berth show` says why"},
    {"idle_end", "", kNow, kept_in<&Options::idle, &IdleRules::end>,
     "time after which such a job is ended, if it runs"},
    {"keep_jobs", "", kNow, kept_in<&Options::retention, &RetentionRules::jobs>,
     "time after which an ended job is deleted, with its log and snapshot; none: never"},
    {"keep_logs", "", kNow, kept_in<&Options::retention, &RetentionRules::logs>,
     "time since the last write after which the log of an ended job is deleted"},
    {"keep_logs_size", "", kNow, kept_in<&Options::retention, &RetentionRules::logs_size>,
     "limit of the size of all logs; beyond it those of the oldest ended jobs are deleted. Logs of "
     "running jobs stay (`log_cap`)"},
    {"keep_user_logs_size", "", kNow, kept_in<&Options::retention, &RetentionRules::user_logs_size>,
     "the same of one user's logs; `logs` in `users` and `groups` takes precedence. It does not "
     "apply to root if berthd is root"},
    {"operators", "", kNow, kept_in<&Options::roles, &Roles::operators>,
     "users, and unix groups as `\"@ops\"`, that may act on others' jobs and on GPUs (audit.md)"},
    {"admins", "", kNow, kept_in<&Options::roles, &Roles::admins>,
     "likewise administrators, who may act on everything"},
    {"hide_arguments", "false", kNow, kept_in<&Options::hide_arguments>,
     "others' commands are shown without arguments, except to administrators (audit.md)"},
    {"audit_cap", "\"64MiB\"", kNextStart, kept_in<&Options::audit_cap>,
     "limit of the size of the log of changes, `STATE/audit.jsonl` (audit.md)",
     ConfigRange{.least_amount = "1MiB"}},
    {"notify_command", "", kNow, kept_in<&Options::notify_command>,
     "shell command that is run for each job, as its user (notifications.md)"},
    {"notify_on", "[\"end\"]", kNow, kept_in<&Options::notify_on>,
     "when `notify_command` is run: some of start, end, fail, idle and overuse"},
    {"exclude", "", kNow, kept_in<&Options::exclude>,
     "indices of GPUs that take no jobs, such as `[0]`; jobs that are there go on. Other programs "
     "may use these GPUs freely. A berthd that is started with `CUDA_VISIBLE_DEVICES` gives out "
     "only the GPUs in that list, by numbers as in `nvidia-smi` or UUIDs, and says so; in a "
     "container that sees more GPUs than `NVIDIA_VISIBLE_DEVICES` names, only those"},
    {"weights", "", kNow, kept_in<&Options::rules, &live::Rules::weights>,
     "weights of users, from 0.001 to 100000, as `{alice = 2, 1007 = 0.5}`; a user without one has "
     "weight 1"},
    {"gpu_values", "", kNextStart, read_by<read_gpu_values, &Options::gpu_values>,
     "what an hour on a GPU of each type counts in users' shares, from 0.001 to 1000, as `{A100 = "
     "2, K80 = 0.3}`; a type without one counts 1. `\"speeds\"`: the mean speed of all models on "
     "it "
     "in the file `speeds`, against the fastest type. Limits count GPUs as before"},
    {"users", "", kNow, read_by<read_users, &Options::of_users>,
     "limits, weights and `share` of single users, as `{alice = {jobs = 8, weight = 2, share = "
     "\"now\"}}`; with `submit = false` they submit no jobs, and those that are there go on"},
    {"groups", "", kNow, read_by<read_groups, &Options::of_groups>,
     "the same for the members of groups, as `{students = {gpus = 1, logs = \"5GiB\"}}`"},
});

/// A line for each value of a table, and where it stands.
void add_values(std::string& text, const std::string& name, const toml::node& node,
                const std::string& file) {
  if (const toml::table* const table = node.as_table()) {
    for (const auto& [key, of] : *table) {
      const std::string inner(key.str());  // a user `ada.l`, a policy `tiresias/dlas`
      const bool is_bare = inner.find_first_of("./+ ") == std::string::npos;
      add_values(text, name + "." + (is_bare ? inner : "\"" + inner + "\""), of, file);
    }
    return;
  }
  std::ostringstream value;
  value << toml::toml_formatter(
      node, toml::toml_formatter::default_flags & ~toml::format_flags::allow_literal_strings);
  text += name + " = " + value.str() + "  # " + place_of(node, file) + "\n";
}

std::set<std::string> parts_of_key(std::string_view name) {
  std::set<std::string> words;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find_first_of("_.", at), name.size());
    std::string word(name.substr(at, end - at));
    if (word.ends_with('s')) word.pop_back();  // `user` and `users`
    words.insert(std::move(word));
    at = end + 1;
  }
  return words;
}

/// Of `max_gpus_per_user` user_gpus: the longest name of which it has all words; "" if none.
std::string with_words_of(std::string_view typed, const std::vector<std::string>& names) {
  const std::set<std::string> words = parts_of_key(typed);
  std::string best;
  for (const std::string& name : names) {
    if (name.size() > best.size() && std::ranges::includes(words, parts_of_key(name))) best = name;
  }
  return best;
}

/// The keys of a table; `outer` is its name with its dot, "" for the file itself.
Expected<void> read_table(Options& options, const toml::table& table, const std::string& outer,
                          const std::string& file) {
  for (const auto& [name, node] : table) {
    const std::string full = outer + std::string(name.str());
    const ConfigValue value{node, file, full, options.warnings};
    const auto found = std::ranges::find(kKeys, full, &ConfigKey::name);
    Expected<void> done;
    if (found != kKeys.end()) {
      done = found->option.read(options, {node, file, full, options.warnings, found->range});
      if (done) add_values(options.from_file[full], full, node, file);
    } else if (outer.empty() && node.is_table()) {
      done = read_table(options, *node.as_table(), full + ".", file);
    } else {
      std::vector<std::string> names;
      std::string known;
      for (const ConfigKey& each : kKeys) {
        names.emplace_back(each.name);
        known += (known.empty() ? "" : ", ") + names.back();
      }
      std::string meant = nearest(full, names);
      if (meant.empty()) meant = with_words_of(full, names);
      done = value.refuse("unknown key; " +
                          (meant.empty() ? "valid keys: " + known : "did you mean " + meant + "?"));
    }
    if (!done) return done;
  }
  return {};
}

/// A comment of lines of 100 columns at most.
void add_comment(std::string& text, std::string words) {
  std::erase(words, '`');
  std::istringstream rest(words);
  std::string line = "#";
  for (std::string word; rest >> word;) {
    if (line.size() + 1 + word.size() > 100) text += std::exchange(line, "#") + "\n";
    line += " " + word;
  }
  text += line + "\n";
}

}  // namespace

std::span<const ConfigKey> config_keys() { return kKeys; }

bool is_config_key(std::string_view name) {
  return std::ranges::find(kKeys, name, &ConfigKey::name) != kKeys.end();
}

std::string full_meaning(const ConfigKey& key) {
  std::string meaning(key.meaning);
  if (key.range.most > 0) {
    meaning +=
        "; from " + std::to_string(key.range.least) + " to " + std::to_string(key.range.most);
  }
  if (!key.range.least_amount.empty()) {
    meaning += "; at least " + std::string(key.range.least_amount);
  }
  return meaning;
}

/// The value of a line like `policy = fifo`, which lacks the quotes of a text; "" for other lines.
std::string bare_text_in(std::string_view text, std::size_t line) {
  for (; line > 1 && text.contains('\n'); --line) text.remove_prefix(text.find('\n') + 1);
  text = text.substr(0, std::min(text.find('\n'), text.find('#')));
  const std::size_t value = text.find_first_not_of(" \t", text.find('=') + 1);
  if (!text.contains('=') || value == text.npos) return "";
  text = text.substr(value, text.find_last_not_of(" \t\r") + 1 - value);
  const bool has_marks = text.find_first_of("\"'[]{}=") != text.npos;
  const bool has_letter = std::ranges::any_of(
      text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
  return has_letter && !has_marks ? std::string(text) : "";
}

Expected<void> read_config(Options& options, std::string_view text, const std::string& file) {
  if (auto fit = check_toml_bytes(text, file); !fit) return fit;
  const toml::parse_result parsed = toml::parse(text, file);
  if (parsed) return read_table(options, parsed.table(), "", file);
  const toml::source_position at = parsed.error().source().begin;
  const std::string bare = bare_text_in(text, at.line);
  const std::string fault = bare.empty()
                                ? std::string(parsed.error().description())
                                : bare + ": a text stands in quotes here: \"" + bare + "\"";
  return fail(ErrorCode::BadData, file + ":" + std::to_string(at.line) + ":" +
                                      std::to_string(at.column) + ": " + fault);
}

std::string show_config(const Options& options) {
  std::string shown =
      "# berthd reads /etc/berth/berth.toml when it starts (~/.config/berth/berth.toml if it is "
      "not\n"
      "# root's, or the file of --config). Every key is optional; what is written here behind # "
      "is\n"
      "# the default. man berthd and doc/configuration.md say more.\n";
  for (const ConfigKey& key : kKeys) {
    shown += "\n";
    add_comment(shown, full_meaning(key));
    const auto given = options.from_file.find(key.name);
    const std::string_view fallback = key.fallback.empty() ? "..." : key.fallback;
    shown += given != options.from_file.end()
                 ? given->second
                 : "#" + std::string(key.name) + " = " + std::string(fallback) + "\n";
  }
  return shown;
}

}  // namespace berth::daemon
