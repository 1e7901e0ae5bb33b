#include "cli/submission.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <span>

#include "cli/amounts.hpp"
#include "cli/begin_time.hpp"
#include "cli/foreign_flags.hpp"
#include "cli/foresight.hpp"
#include "cli/json.hpp"
#include "cli/output.hpp"
#include "cli/output_pattern.hpp"
#include "cli/program_words.hpp"
#include "cli/script.hpp"
#include "cli/verbs.hpp"
#include "core/array_text.hpp"
#include "core/conditions.hpp"
#include "core/handle.hpp"
#include "core/limits.hpp"
#include "core/saving_text.hpp"
#include "core/words.hpp"
#include "shim/inherited.hpp"

namespace berth::cli {

namespace {

constexpr auto kLastJobNumber = static_cast<std::int64_t>(limits::kLastJob.value());

// The groups of options in the help and on the manual page.
constexpr auto kNeeds = "What it needs";
constexpr auto kWhen = "When it starts, and for how long";
constexpr auto kRuns = "What it runs with";
constexpr auto kFailure = "Before it ends, and after a failure";
constexpr auto kTells = "What you see of it";
constexpr auto kPolicies = "For some policies";

std::unexpected<Error> refuse(std::string_view option, std::string_view value,
                              std::string_view why) {
  return fail(ErrorCode::InvalidArgument,
              std::string(option) + " " + std::string(value) + ": " + std::string(why));
}

/// The options one by one into the body; remembers the first that makes no sense.
class Body {
 public:
  explicit Body(Json& json) : json_(json) {}

  /// Takes a typed value through `parse` and writes it with `write`.
  template <class Parse, class Write>
  void take(std::string_view option, const std::optional<std::string>& typed, Parse parse,
            Write write) {
    if (!typed || failed_) return;
    const auto value = parse(*typed);
    if (value) {
      write(json_, *value);
    } else {
      failed_ = refuse(option, *typed, value.error().message).error();
    }
  }
  const std::optional<Error>& failed() const { return failed_; }

 private:
  Json& json_;
  std::optional<Error> failed_;
};

Expected<std::string> well_formed(const std::string& text) {
  if (is_utf8(text)) return text;
  return fail(ErrorCode::InvalidArgument, "is not UTF-8");
}

/// `--vram max` is the whole GPU, alone.
void take_vram(Body& body, const JobOptions& options) {
  if (options.vram == "max") {
    body.take("--vram", options.vram, well_formed,
              [](Json& json, const std::string&) { json["exclusive"] = true; });
    return;
  }
  body.take("--vram", options.vram, parse_size,
            [](Json& json, Bytes size) { json["vram_bytes"] = size.raw(); });
}

/// Handles of numbers into `{job, when}`, and `task` of some of an array's.
Expected<Json> jobs_after(std::string_view typed, const char* when) {
  const auto refusal = fail(ErrorCode::InvalidArgument,
                            "is not a list of jobs such as 7, 7,9-12 or 7_3 (a task of an array)");
  const auto handles = parse_handles(typed);
  if (!handles) return refusal;
  Json list = Json::array();
  const auto add = [&](std::uint64_t job, std::optional<std::int64_t> task) {
    list.push_back({{"job", job}, {"when", when}});
    if (task) list.back()["task"] = *task;
    return list.size() <= limits::kMostDependencies;
  };
  for (const Handle& handle : *handles) {
    if (const auto* const jobs = std::get_if<NumberedJobs>(&handle.what)) {
      for (std::uint64_t job = jobs->first.value(); job <= jobs->last.value(); ++job) {
        if (!add(job, std::nullopt)) return refusal;
      }
      continue;
    }
    const auto* const tasks = std::get_if<TasksOfArray>(&handle.what);
    if (tasks == nullptr) return refusal;
    if (tasks->tasks.empty() && !add(tasks->array.value(), std::nullopt)) return refusal;
    for (const TaskRange& range : tasks->tasks) {
      for (std::int64_t task = range.first; task <= range.last; task += range.step) {
        if (!add(tasks->array.value(), task)) return refusal;
      }
    }
  }
  return list;
}

/// `exit:75`, `75,exit:76`, `gpu-failure,exit:75`.
Expected<Json> requeue_causes(std::string_view typed) {
  Json list = Json::array();
  for (std::size_t at = 0; at <= typed.size();) {
    const std::size_t comma = std::min(typed.find(',', at), typed.size());
    std::string_view part = typed.substr(at, comma - at);
    at = comma + 1;
    if (part == "gpu-failure") {
      list.push_back(part);
      continue;
    }
    if (part.starts_with("exit:")) part.remove_prefix(5);
    const auto code = parse_count(part, 255);
    if (!code || *code == 0) {
      return fail(ErrorCode::InvalidArgument,
                  "is not a list of gpu-failure and exit codes from 1 to 255 such as exit:75 or "
                  "gpu-failure,exit:75");
    }
    list.push_back(*code);
  }
  return list;
}

/// `2`, `0,2`, `0-3,6`.
Expected<Json> gpu_indices(std::string_view typed) {
  Json list = Json::array();
  for (std::size_t at = 0; at <= typed.size();) {
    const std::size_t comma = std::min(typed.find(',', at), typed.size());
    const std::string_view part = typed.substr(at, comma - at);
    at = comma + 1;
    const std::size_t dash = part.find('-');
    const auto first = parse_count(part.substr(0, dash), limits::kMostGpus);
    const auto last =
        dash == part.npos ? first : parse_count(part.substr(dash + 1), limits::kMostGpus);
    if (!first || !last || *last < *first) {
      return fail(ErrorCode::InvalidArgument,
                  "is not a list of GPUs such as 2, 0,2 or 0-3 (berth gpus)");
    }
    for (std::int64_t index = *first; index <= *last; ++index) list.push_back(index);
  }
  return list;
}

struct WarningSignal {
  std::string signal;
  std::optional<Duration> before;
};

/// `USR1@60s`, `USR1`. A bare number of seconds, and a part before a colon, as sbatch has them.
Expected<WarningSignal> parse_signal(std::string_view typed) {
  if (const std::size_t colon = typed.find(':'); colon <= 2) typed.remove_prefix(colon + 1);
  const std::size_t at = typed.find('@');
  WarningSignal warning{.signal = std::string(typed.substr(0, at)), .before = std::nullopt};
  if (warning.signal.empty() || !is_utf8(warning.signal)) {
    return fail(ErrorCode::InvalidArgument, "is no signal and time, as USR1@60s");
  }
  if (at == typed.npos) return warning;
  const auto before = parse_duration(typed.substr(at + 1));
  if (!before) return std::unexpected(before.error());
  warning.before = *before;
  return warning;
}

double in_seconds(Duration time) { return static_cast<double>(micros(time)) / 1e6; }

/// How many GPUs, and which the job accepts.
void take_gpus(Body& body, const JobOptions& options) {
  body.take(
      "--gpus", options.gpus,
      [](const std::string& text) { return parse_count(text, limits::kMostGpus); },
      [](Json& to, std::int64_t count) { to["gpus"] = count; });
  body.take("--gpu-type", options.gpu_types, well_formed, [](Json& to, std::string_view names) {
    Json& list = to["gpu_types"] = Json::array();
    for (std::size_t at = 0; at <= names.size();) {
      const std::size_t comma = std::min(names.find(',', at), names.size());
      list.push_back(std::string(names.substr(at, comma - at)));
      at = comma + 1;
    }
  });
  body.take("--gpu-index", options.gpu_index, gpu_indices,
            [](Json& to, Json indices) { to["gpu_indices"] = std::move(indices); });
}

/// What policies read and nothing enforces.
void take_hints(Body& body, const JobOptions& options, const Caller& caller) {
  const auto take_count = [&](std::string_view option, const std::optional<std::string>& typed,
                              const char* key, std::int64_t most) {
    body.take(
        option, typed, [=](const std::string& text) { return parse_count(text, most); },
        [=](Json& to, std::int64_t count) { to[key] = count; });
  };
  const auto take_text = [&](std::string_view option, const std::optional<std::string>& typed,
                             const char* key) {
    body.take(option, typed, well_formed,
              [=](Json& to, const std::string& text) { to[key] = text; });
  };
  take_count("--min-gpus", options.min_gpus, "min_gpus", limits::kMostGpus);
  take_count("--max-gpus", options.max_gpus, "max_gpus", limits::kMostGpus);
  take_count("--gpu-milli", options.gpu_milli, "gpu_milli", kWholeGpu.raw());
  take_count("--gpu-processes", options.gpu_processes, "gpu_processes", limits::kMostGpuProcesses);
  take_count("--priority", options.priority, "priority", limits::kMostPriority);
  take_count("--batch", options.batch, "batch", limits::kMostBatch);
  take_text("--group", options.group, "job_group");
  take_text("--model", options.model, "model");
  take_text("--share", options.share, "share");
  body.take("--estimate", options.estimate, parse_duration,
            [](Json& to, Duration time) { to["estimate_seconds"] = in_seconds(time); });
  body.take("--deadline", options.deadline, parse_duration, [&](Json& to, Duration time) {
    to["deadline_at"] = in_seconds(caller.now + time - kStart);
  });
}

/// What it waits for beside a place.
void take_conditions(Body& body, const JobOptions& options, const Caller& caller) {
  for (const auto& [option, typed, when] :
       {std::tuple("--after", &options.after, "after-ok"),
        {"--after-ok", &options.after_ok, "after-ok"},
        {"--after-any", &options.after_any, "after-any"},
        {"--after-notok", &options.after_notok, "after-notok"}}) {
    body.take(
        option, *typed, [when](const std::string& text) { return jobs_after(text, when); },
        [](Json& to, const Json& jobs) {
          for (const Json& job : jobs) to["after"].push_back(job);
        });
  }
  body.take(
      "--begin", options.begin,
      [&](const std::string& text) { return parse_begin(text, caller.now); },
      [](Json& to, Instant at) { to["begin_at"] = in_seconds(at - kStart); });
  body.take(
      "--array", options.array,
      [](const std::string& text) -> Expected<std::string> {
        if (const auto array = parse_array(text); !array) return std::unexpected(array.error());
        return text;
      },
      [](Json& to, const std::string& text) { to["array"] = text; });
  body.take("--unique", options.unique, well_formed,
            [](Json& to, const std::string& key) { to["unique"] = key; });
  body.take("--requeue-on", options.requeue_on, requeue_causes,
            [](Json& to, const Json& causes) { to["requeue_on"] = causes; });
  body.take("--on-preempt", options.on_preempt, parse_saving, [](Json& to, const Saving& saving) {
    to["on_preempt"] = {{"signal", signal_name(saving.signal)},
                        {"grace_seconds", in_seconds(saving.grace)}};
  });
  body.take("--output", options.output, well_formed,
            [](Json& to, const std::string& path) { to["output"] = path; });
}

std::optional<Error> take_amounts(Json& json, const JobOptions& options, const Caller& caller) {
  Body body(json);
  take_hints(body, options, caller);
  take_conditions(body, options, caller);
  take_vram(body, options);
  take_gpus(body, options);
  body.take("--cpus", options.cpus, parse_cores,
            [](Json& to, CpuMilli cores) { to["cpus"] = static_cast<double>(cores.raw()) / 1000; });
  body.take("--mem", options.mem, parse_size,
            [](Json& to, Bytes size) { to["mem_bytes"] = size.raw(); });
  body.take(
      "--pids", options.pids,
      [](const std::string& text) { return parse_count(text, limits::kMostProcesses); },
      [](Json& to, std::int64_t count) { to["pids"] = count; });
  body.take("--time", options.time, parse_duration,
            [](Json& to, Duration time) { to["time_limit_seconds"] = in_seconds(time); });
  body.take("--signal", options.signal, parse_signal, [](Json& to, const WarningSignal& warning) {
    to["warning_signal"] = warning.signal;
    if (warning.before) to["warning_seconds"] = in_seconds(*warning.before);
  });
  body.take("--notify", options.notify, well_formed,
            [](Json& to, const std::string& whom) { to["notify"] = whom; });
  body.take("--notify-on", options.notify_on, well_formed,
            [](Json& to, const std::string& occasions) { to["notify_on"] = occasions; });
  body.take(
      "--retries", options.retries,
      [](const std::string& text) { return parse_count(text, limits::kMostRetries); },
      [](Json& to, std::int64_t count) { to["retries"] = count; });
  body.take(
      "--class", options.job_class,
      [](const std::string& text) -> Expected<DurationClass> {
        if (const auto found = from_word<DurationClass>(text)) return *found;
        return fail(ErrorCode::InvalidArgument, "is none of " + all_words<DurationClass>());
      },
      [](Json& to, DurationClass is) { to["class"] = word_for(is); });
  body.take("--name", options.name, well_formed,
            [](Json& to, const std::string& name) { to["name"] = name; });
  if (body.failed()) return body.failed();
  if (json.contains("vram_bytes") && json.value("gpus", 1) == 0) {
    return refuse("--vram", *options.vram, "with --gpus 0: a job without GPUs has no GPU memory")
        .error();
  }
  return std::nullopt;
}

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

std::string left_out(std::string_view name) {
  if (!is_utf8(name)) return "a variable whose name is not UTF-8 is left out";
  return "the variable " + std::string(name) + " is left out: its value is not UTF-8";
}

/// The caller's variables without those that JSON cannot hold, or that are none.
std::vector<std::string> sound(const Caller& caller, std::vector<std::string>& warnings) {
  std::vector<std::string> kept;
  for (const std::string& variable : caller.environment) {
    const std::string_view name = name_of(variable);
    if (name.empty() || name.size() == variable.size()) continue;
    if (is_utf8(variable)) {
      kept.push_back(variable);
    } else {
      warnings.push_back(left_out(name));
    }
  }
  return kept;
}

void set_variable(std::vector<std::string>& environment, const std::string& variable) {
  const auto same = [&](const std::string& other) { return name_of(other) == name_of(variable); };
  std::erase_if(environment, same);
  environment.push_back(variable);
}

/// `NAME=VALUE` sets; `NAME` must be there already, as the whole environment goes along, but for
/// what berth set for the job that this one is submitted from.
std::optional<Error> set_typed(std::vector<std::string>& environment, const JobOptions& options,
                               const Caller& caller) {
  for (const std::string& typed : options.environment) {
    const std::string_view name = name_of(typed);
    if (name.empty()) return refuse("--env", typed, "has no name before its =").error();
    if (!is_utf8(typed)) return refuse("--env", name, "is not UTF-8").error();
    if (name.size() < typed.size()) {
      set_variable(environment, typed);
    } else if (std::ranges::find(environment, name, name_of) == environment.end()) {
      const auto here = std::ranges::find(caller.environment, name, name_of);
      if (here == caller.environment.end() || here->size() == name.size() || !is_utf8(*here)) {
        return refuse("--env", typed, "is not set here; give it a value as NAME=VALUE").error();
      }
      environment.push_back(*here);
    }
  }
  return std::nullopt;
}

/// Those typed, with the values that they have now. What a script says for Slurm is in its options.
std::vector<std::string> typed_variables(const JobOptions& options,
                                         const std::vector<std::string>& environment) {
  std::vector<std::string> typed;
  for (const std::string& variable : environment) {
    const bool is_typed = std::ranges::find(options.environment, name_of(variable), name_of) !=
                          options.environment.end();
    const bool is_for_slurm = variable.starts_with("BERTH_") || variable.starts_with("SLURM_");
    if (is_typed && !is_for_slurm) typed.push_back(variable);
  }
  return typed;
}

Expected<std::string> directory_of(const JobOptions& options, const Caller& caller) {
  if (!options.directory) {
    if (is_utf8(caller.directory)) return caller.directory;
    return fail(ErrorCode::InvalidArgument, "the working directory's name is not UTF-8");
  }
  const auto path = std::filesystem::path(caller.directory) / *options.directory;
  struct stat status{};
  if (options.directory->empty()) return refuse("--cwd", "''", "is not a folder");
  if (!is_utf8(path.string())) return refuse("--cwd", "DIR", "is not UTF-8");
  if (stat(path.c_str(), &status) != 0) {
    return refuse("--cwd", *options.directory, std::strerror(errno));
  }
  if (!S_ISDIR(status.st_mode)) return refuse("--cwd", *options.directory, "is not a folder");
  return path.lexically_normal().string();
}

/// Mail to the caller on this machine.
std::string own_address() { return facts_here("").user + "@localhost"; }

/// A script's own name is in what was typed: now its interpreter may stand before it.
std::string name_of_job(const JobOptions& options, const JobOptions& typed) {
  if (options.name || typed.command.empty()) return options.name.value_or("");
  const std::string& program = typed.command.front();
  return program.substr(program.rfind('/') + 1);
}

std::optional<Error> unfit_word(const std::vector<std::string>& command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (is_utf8(command[i])) continue;
    return Error{ErrorCode::InvalidArgument,
                 "argument " + std::to_string(i + 1) + " of the command is not UTF-8"};
  }
  return std::nullopt;
}

}  // namespace

void add_job_options(CLI::App& verb, JobOptions& options) {
  verb.prefix_command();
  const char* group = kNeeds;
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return verb.add_option(name, value, help)->type_name(type)->group(group);
  };
  option("--vram", options.vram, "SIZE", "Memory on each GPU, as 10G; max: the whole GPU, alone.");
  option("--vram-shrink", options.vram_shrink, "yes|no",
         "After a warm-up, charge what the job held most and a margin.")
      ->check(CLI::IsMember({"yes", "no"}));
  option("--gpus", options.gpus, "N", "Number of GPUs; 0 for none. [1]");
  option("--min-gpus", options.min_gpus, "N", "Fewest GPUs, under elastic policies.");
  option("--max-gpus", options.max_gpus, "N", "Most GPUs, under elastic policies.");
  option("--gpu-type", options.gpu_types, "TYPES",
         "Accepted types, separated by commas; see berth gpus.");
  option("--gpu-index", options.gpu_index, "GPUS",
         "Accepted GPUs, as 0,2 or 0-3; without --gpus all of them.");
  option("--share", options.share, "MODE",
         "exclusive, timeslice, mps, or mig:PROFILE: an instance like mig:3g.40gb.");
  option("--gpu-milli", options.gpu_milli, "N", "Thousandths of each GPU's compute.");
  option("--gpu-processes", options.gpu_processes, "N",
         "Processes on each GPU, as ranks of MPI; each is charged a context. [1]");
  option("--cpus", options.cpus, "CORES", "CPU cores, as 0.5.");
  option("--mem", options.mem, "SIZE", "Host memory, as 16G.");
  option("--pids", options.pids, "N", "Most processes and threads at once.");
  verb.add_flag("--exclusive", options.exclusive, "Share the GPUs with no other job.")
      ->group(group);

  group = kWhen;
  option("--class", options.job_class, "CLASS", "One of short, medium, long, service. [medium]");
  option("--time", options.time, "DURATION", "Time limit, as 90s, 30min, 1h30m, 2d, 1:30:00.");
  option("--estimate", options.estimate, "DURATION",
         "Expected run time; the job is not ended then. [learned from runs of the same program]");
  option("--deadline", options.deadline, "DURATION", "Time from now by which the job should end.");
  option("--priority", options.priority, "N",
         "Larger goes first among your own waiting jobs, and under policy priority among all. [0]");
  option("--after", options.after, "JOBS", "Start once these have ended well: 7, 7,9-12, 7_3.");
  option("--after-ok", options.after_ok, "JOBS", "The same.");
  option("--after-any", options.after_any, "JOBS", "Start once these have ended.");
  option("--after-notok", options.after_notok, "JOBS", "Start once these have ended, not well.");

  group = kRuns;
  // One value each, so that the command's words are not taken for more of them.
  option("--env", options.environment, "NAME=VALUE", "A variable; NAME alone must be set here.")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  option("--cwd", options.directory, "DIR", "Working directory. [here]");
  verb.add_flag("--snapshot{.}", options.snapshot,
                "Run in a copy of the code made now: of the git work tree or --snapshot=DIR.")
      ->type_name("DIR")
      ->group(group);
  option("--snapshot-exclude", options.snapshot_exclude, "PATTERNS",
         "Not copied but linked, as data,*.pt; git's ignored files are so, too.");
  option("--snapshot-limit", options.snapshot_limit, "SIZE", "Largest copy. [1G]");

  group = kFailure;
  option("--signal", options.signal, "SIGNAL@TIME",
         "Send the job a signal this long before its time limit, as USR1@60s.");
  option("--retries", options.retries, "N", "Restarts with more GPU memory after running out. [0]");
  option("--requeue-on", options.requeue_on, "CAUSES",
         "Run again after these, as exit:75 or gpu-failure.");
  option("--on-preempt", options.on_preempt, "HOW",
         "How the job saves its state before it gives way, as signal:USR1,grace=60s.");

  group = kTells;
  option("--name", options.name, "NAME", "Name of the job in lists.");
  option("--notify", options.notify, "ADDRESS",
         "Send a message when the job ends: a mail or web address, or a shell command.");
  option("--notify-on", options.notify_on, "EVENTS",
         "Some of start,end,fail,idle,overuse [end]; without --notify by mail to you.");

  group = kPolicies;
  option("--group", options.group, "NAME", "Group of your jobs that belong together.");
  option("--model", options.model, "NAME", "Model the job runs, as the table of speeds names it.");
  option("--batch", options.batch, "N", "Samples per step, on all GPUs together.");
}

void add_submit_options(CLI::App& verb, JobOptions& options) {
  const char* group = kWhen;
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    verb.add_option(name, value, help)->type_name(type)->group(group);
  };
  option("--begin", options.begin, "TIME", "Do not start before: +2h, 22:00, 2026-11-24T22:00.");
  option("--array", options.array, "TASKS",
         "One job for each: 1-100, 0,3,7-9, 1-100%8 (8 at once).");
  option("--unique", options.unique, "KEY",
         "Submit nothing if a job of yours with this key waits or runs.");
  verb.add_flag("--hold", options.hold, "Keep the job from starting until `berth release`.")
      ->group(group);
  group = kTells;
  option("-o,--output", options.output, "FILE",
         "Write output there, too; %j job, %A array, %a task, %x name, %u user.");
}

Expected<Json> change_of(const JobOptions& options) {
  Json json = Json::object();
  Body body(json);
  body.take("--vram", options.vram, parse_size,
            [](Json& to, Bytes size) { to["vram_bytes"] = size.raw(); });
  body.take("--time", options.time, parse_duration,
            [](Json& to, Duration time) { to["time_limit_seconds"] = in_seconds(time); });
  body.take("--name", options.name, well_formed,
            [](Json& to, const std::string& name) { to["name"] = name; });
  body.take(
      "--priority", options.priority,
      [](const std::string& text) { return parse_count(text, limits::kMostPriority); },
      [](Json& to, std::int64_t priority) { to["priority"] = priority; });
  take_gpus(body, options);
  if (body.failed()) return std::unexpected(*body.failed());
  if (!json.empty()) return json;
  return fail(ErrorCode::InvalidArgument,
              "nothing is to be changed; give --vram, --time, --gpus, --gpu-type, --gpu-index, "
              "--name or --priority");
}

Expected<Caller> this_caller() {
  Caller caller;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    caller.environment.emplace_back(*entry);
  }
  std::error_code failed;
  caller.directory = std::filesystem::current_path(failed).string();
  if (failed) return fail(ErrorCode::Io, "the working directory: " + failed.message());
  caller.umask = umask(0);
  umask(caller.umask);
  caller.now = kStart + std::chrono::duration_cast<Duration>(
                            std::chrono::system_clock::now().time_since_epoch());
  return caller;
}

Expected<Submission> submission_of(const JobOptions& typed, const Caller& caller) {
  Submission made{.body = Json::object()};
  JobOptions options = typed;
  auto left_out = read_script(options, caller);
  if (!left_out) return std::unexpected(left_out.error());
  made.warnings = std::move(*left_out);
  if (options.notify_on && !options.notify) options.notify = own_address();
  if (options.output) {
    options.output = filled_pattern(*options.output, facts_here(name_of_job(options, typed)));
  }
  if (auto unfit = unfit_word(options.command)) return std::unexpected(*unfit);
  const auto directory = directory_of(options, caller);
  if (!directory) return std::unexpected(directory.error());
  if (auto failed = take_amounts(made.body, options, caller)) return std::unexpected(*failed);
  auto environment = sound(caller, made.warnings);
  shim::drop_inherited(environment);  // here, as what is typed stays whatever berth set before
  if (std::ranges::find(options.environment, kTellsSlurm) != options.environment.end()) {
    std::erase_if(environment, [](const std::string& variable) {  // of a job that submits another
      return variable.starts_with("SLURM_");
    });
  }
  if (auto failed = set_typed(environment, options, caller)) return std::unexpected(*failed);
  auto foreseen = look_ahead({.directory = *directory,
                              .command = options.command,
                              .output = options.output.value_or(""),
                              .environment = environment});
  if (!foreseen) return std::unexpected(foreseen.error());
  std::ranges::move(*foreseen, std::back_inserter(made.warnings));
  const auto words = program_words({.command = options.command,
                                    .directory = *directory,
                                    .variables = typed_variables(options, environment)});
  if (!words.empty()) made.body["program_words"] = words;
  made.body["command"] = options.command;
  made.body["directory"] = *directory;
  made.body["environment"] = std::move(environment);
  made.body["umask"] = caller.umask & 0777;
  if (options.exclusive) made.body["exclusive"] = true;
  if (options.vram_shrink) made.body["vram_shrink"] = *options.vram_shrink == "yes";
  if (options.hold) made.body["held"] = true;
  if (options.snapshot) {
    made.snapshot = {.folder = *options.snapshot == "." ? "" : *options.snapshot,
                     .exclude = options.snapshot_exclude,
                     .limit = options.snapshot_limit};
  } else if (options.snapshot_exclude || options.snapshot_limit) {
    return refuse("--snapshot-exclude", options.snapshot_exclude.value_or(""),
                  "without --snapshot: nothing is copied");
  }
  return made;
}

std::string unknown_option(std::string_view word) {
  const std::string hint = hint_for(word);
  return std::string(word) + ": no such option" + (hint.empty() ? "" : "; " + hint);
}

Expected<std::vector<std::string>> command_words(const std::vector<std::string>& left_over,
                                                 const std::vector<std::string>& from_dashes) {
  if (!left_over.empty() && left_over.front().starts_with('-')) {
    return fail(ErrorCode::InvalidArgument, unknown_option(left_over.front()));
  }
  std::vector<std::string> words = left_over;
  // A `--` behind the command's first word is the command's own.
  const bool is_separator = words.empty() && !from_dashes.empty();
  words.insert(words.end(), from_dashes.begin() + (is_separator ? 1 : 0), from_dashes.end());
  if (words.empty()) return fail(ErrorCode::InvalidArgument, "no command; give it after --");
  return words;
}

void report_warnings(const Json& answer) {
  const Json& warnings = part_of(answer, "warnings");
  if (!warnings.is_array()) return;
  for (const Json& warning : warnings) {
    if (warning.is_string()) report_failure(printable(warning.get<std::string>()));
  }
}

}  // namespace berth::cli
