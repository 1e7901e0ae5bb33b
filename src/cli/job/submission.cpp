#include "cli/job/submission.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <span>

#include "cli/ask/job_filter.hpp"
#include "cli/job/begin_time.hpp"
#include "cli/job/foreign_flags.hpp"
#include "cli/job/foresight.hpp"
#include "cli/job/gpu_habits.hpp"
#include "cli/job/habits.hpp"
#include "cli/job/jobs_before.hpp"
#include "cli/job/output_pattern.hpp"
#include "cli/job/program_words.hpp"
#include "cli/job/script.hpp"
#include "cli/job/sweep.hpp"
#include "cli/print/amounts.hpp"
#include "cli/print/json.hpp"
#include "cli/print/option_words.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "core/base/limits.hpp"
#include "core/base/suggest.hpp"
#include "core/conditions.hpp"
#include "core/text/array_text.hpp"
#include "core/text/job_fields.hpp"
#include "core/text/points.hpp"
#include "core/text/saving_text.hpp"
#include "core/text/words.hpp"
#include "shim/inherited.hpp"
#include "shim/ulimits.hpp"

namespace berth::cli {

namespace {

/// In the help and on the manual page.
constexpr auto kGroupTitles = std::to_array<const char*>(
    {"What it needs", "When it starts, and for how long", "What it runs with",
     "Before it ends, and after a failure", "What you see of it", "For some policies"});
constexpr const char* title_of(FieldGroup group) {
  return kGroupTitles[static_cast<std::size_t>(group)];
}

std::unexpected<Error> refuse(std::string_view option, std::string_view value,
                              std::string_view why) {
  return fail(ErrorCode::InvalidArgument,
              std::string(option) + " " + std::string(value) + ": " + std::string(why));
}

Expected<std::string> well_formed(const std::string& text) {
  if (is_utf8(text)) return text;
  return fail(ErrorCode::InvalidArgument, "is not UTF-8");
}

/// `exit:75`, `75,exit:76`, `gpu-failure,exit:75`.
Expected<Json> requeue_causes(const std::string& list_typed, Instant) {
  const std::string_view typed = list_typed;
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
Expected<Json> gpu_indices(const std::string& list_typed, Instant) {
  const std::string_view typed = list_typed;
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

/// What was typed of a field, as the API has it; `now` is since 1970.
using FieldText = Expected<Json> (*)(const std::string& typed, Instant now);

Expected<Json> type_names(const std::string& names, Instant) {
  if (auto text = well_formed(names); !text) return std::unexpected(text.error());
  Json list = Json::array();
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t comma = std::min(names.find(',', at), names.size());
    list.push_back(names.substr(at, comma - at));
    at = comma + 1;
  }
  return list;
}

Expected<Json> class_word(const std::string& typed, Instant) {
  if (from_word<DurationClass>(typed)) return typed;
  return fail(ErrorCode::InvalidArgument, "is none of " + all_words<DurationClass>());
}

Expected<Json> array_text(const std::string& typed, Instant) {
  if (const auto array = parse_array(typed); !array) return std::unexpected(array.error());
  return typed;
}

Expected<Json> saving_asked(const std::string& typed, Instant) {
  const auto saving = parse_saving(typed);
  if (!saving) return std::unexpected(saving.error());
  return Json{{"signal", signal_name(saving->signal)},
              {"grace_seconds", in_seconds(saving->grace)}};
}

Expected<Json> time_from_now(const std::string& typed, Instant now) {
  const auto time = parse_duration(typed);
  return time ? Expected<Json>(in_seconds(now + *time - kStart)) : std::unexpected(time.error());
}

Expected<Json> begin_asked(const std::string& typed, Instant now) {
  if (typed == "now") return in_seconds(now - kStart);
  const auto at = parse_begin(typed, now);
  return at ? Expected<Json>(in_seconds(*at - kStart)) : std::unexpected(at.error());
}

/// Which GPUs, or all of them, is another option than how many.
Expected<Json> gpu_count(const std::string& typed, Instant) {
  const auto count = parse_count(typed, find_job_field("gpus")->range.most);
  if (count) return Json(*count);
  const bool is_list = typed.contains(',') && typed.find_first_not_of("0123456789,") == typed.npos;
  const bool is_part = typed.contains('.') && typed.find_first_not_of("0123456789.") == typed.npos;
  return fail(count.error().code,
              count.error().message + (is_list   ? "; for these GPUs say --gpu-index " + typed
                                       : is_part ? "; for a part of a GPU say --vram SIZE"
                                       : typed == "all" ? "; berth gpus lists all"
                                                        : ""));
}

/// Of the fields whose kind does not say how they are typed.
constexpr auto kFieldTexts = std::to_array<std::pair<std::string_view, FieldText>>({
    {"array", array_text},
    {"begin_at", begin_asked},
    {"class", class_word},
    {"deadline_at", time_from_now},
    {"gpu_indices", gpu_indices},
    {"gpu_types", type_names},
    {"gpus", gpu_count},
    {"on_preempt", saving_asked},
    {"requeue_on", requeue_causes},
});

Expected<Json> value_of(const JobField& field, const std::string& typed, Instant now) {
  const auto json_of = [](const auto& parsed, auto in_json) {
    return parsed ? Expected<Json>(in_json(*parsed)) : std::unexpected(parsed.error());
  };
  const auto* const own =
      std::ranges::find(kFieldTexts, field.name, &std::pair<std::string_view, FieldText>::first);
  if (own != kFieldTexts.end()) return own->second(typed, now);
  switch (field.kind) {
    case FieldKind::Flag:
      return typed == "yes";
    case FieldKind::Count:
      return json_of(parse_count(typed, field.range.most),
                     [](std::int64_t count) { return count; });
    case FieldKind::Size:
      return json_of(parse_size(typed), [](Bytes size) { return size.raw(); });
    case FieldKind::Cores:
      return json_of(parse_cores(typed),
                     [](CpuMilli cores) { return static_cast<double>(cores.raw()) / 1000; });
    case FieldKind::Time:
      return json_of(parse_duration(typed), in_seconds);
    default:
      return json_of(well_formed(typed), [](const std::string& text) { return text; });
  }
}

/// What was typed of those fields that `is_asked`, into the body.
template <class IsAsked>
Expected<void> take_fields(Json& json, const JobOptions& options, Instant now, IsAsked is_asked) {
  for (const JobField& field : kJobFields) {
    const std::string_view option = field.option.name;
    if (field.option.type.empty() || !is_asked(field) || !options[option]) continue;
    const bool is_list = field.kind == FieldKind::List || field.name == "share" ||
                         field.name == "notify_on" || field.name == "array";
    const std::string typed = is_list ? tight_list(*options[option]) : *options[option];
    const auto value = value_of(field, typed, now);
    if (!value) return refuse(option, typed, value.error().message);
    json[std::string(field.name)] = *value;
  }
  return {};
}

/// What it waits for, and the signal before its end: these are more than one option, or field.
Expected<void> take_rest(Json& json, const JobOptions& options) {
  for (const auto& [option, when] : {std::pair("--after", "after-ok"),
                                     {"--after-ok", "after-ok"},
                                     {"--after-any", "after-any"},
                                     {"--after-notok", "after-notok"}}) {
    const auto& typed = options[option];
    if (!typed) continue;
    const auto jobs = jobs_before(*typed, when);
    if (!jobs) return refuse(option, *typed, jobs.error().message);
    for (const Json& job : *jobs) json["after"].push_back(job);
  }
  const auto& typed = options["--signal"];
  if (!typed) return {};
  const auto warning = parse_signal(*typed);
  if (!warning) return refuse("--signal", *typed, warning.error().message);
  json["warning_signal"] = warning->signal;
  if (warning->before) json["warning_seconds"] = in_seconds(*warning->before);
  return {};
}

/// `--vram max` is the whole GPU, alone.
Expected<void> take_amounts(Json& json, const JobOptions& options, const Caller& caller) {
  const auto& vram = options["--vram"];
  if (vram == "max") json["exclusive"] = true;
  auto done = take_fields(json, options, caller.now, [&](const JobField& field) {
    if (field.name == "array_at_once") return false;  // it is in the text of the array
    return field.name != "vram_bytes" || vram != "max";
  });
  if (done) done = take_rest(json, options);
  if (!done || !json.contains("vram_bytes") || json.value("gpus", 1) != 0) return done;
  return refuse("--vram", *vram, "with --gpus 0: a job without GPUs has no GPU memory");
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

/// As variables begin that a queue sets.
constexpr auto kOfQueues = std::to_array<std::string_view>(
    {"BERTH_", "SLURM_", "PBS_", "LS_", "LSB_", "SGE_", "JOB_NAME="});

/// Those typed, with the values that they have now. What a script says for Slurm is in its options,
/// and where it was submitted tells no program.
std::vector<std::string> typed_variables(const JobOptions& options,
                                         const std::vector<std::string>& environment) {
  std::vector<std::string> typed;
  for (const std::string& variable : environment) {
    const bool is_typed = std::ranges::find(options.environment, name_of(variable), name_of) !=
                          options.environment.end();
    const bool is_for_queue = std::ranges::any_of(
        kOfQueues, [&](std::string_view start) { return variable.starts_with(start); });
    if (is_typed && !is_for_queue) typed.push_back(variable);
  }
  return typed;
}

Expected<std::string> directory_of(const JobOptions& options, const Caller& caller) {
  const std::filesystem::path asked = options["--cwd"].value_or("");
  if (caller.directory.empty() && !asked.is_absolute()) {
    return fail(ErrorCode::InvalidArgument,
                "the working directory is not there any more; say --cwd with an absolute path");
  }
  if (!options["--cwd"]) {
    if (!is_utf8(caller.directory)) {
      return fail(ErrorCode::InvalidArgument, "the working directory's name is not UTF-8");
    }
    // A process may be where it may not come to, as after su; its job comes there by name.
    if (access(caller.directory.c_str(), X_OK) == 0 || errno != EACCES) return caller.directory;
    return fail(ErrorCode::InvalidArgument,
                "the working directory '" + caller.directory +
                    "': you may not enter it, nor may the job; say --cwd DIR");
  }
  const auto path = caller.directory / asked;
  struct stat status{};
  if (options["--cwd"]->empty()) return refuse("--cwd", "''", "is not a folder");
  if (!is_utf8(path.string())) return refuse("--cwd", "DIR", "is not UTF-8");
  if (stat(path.c_str(), &status) != 0) {
    return refuse("--cwd", *options["--cwd"], std::strerror(errno));
  }
  if (!S_ISDIR(status.st_mode)) return refuse("--cwd", *options["--cwd"], "is not a folder");
  return path.lexically_normal().string();
}

/// Mail to the caller on this machine.
std::string own_address() { return facts_here("").user + "@localhost"; }

/// `me` and the name of an account mean mail to them, as Slurm's --mail-user does.
std::string address_of(const std::string& typed) {
  if (typed == "me") return own_address();
  const bool is_word = typed.find_first_of("@/: ") == std::string::npos;
  const bool is_number = typed.find_first_not_of("0123456789") == std::string::npos;
  if (!is_word || is_number || is_in_path(typed) || !user_number(typed)) return typed;
  return typed + "@localhost";
}

/// A word that nothing can be sent by.
std::string fault_of_address(const std::string& to) {
  const bool is_word = to.find_first_of("@/: ") == std::string::npos;
  if (!is_word || to.empty() || is_in_path(to)) return "";
  return "--notify " + to +
         " may reach nobody: it is no mail address, no user of this machine and "
         "no program";
}

/// A script's own name is in what was typed: now its interpreter may stand before it.
std::string name_of_job(const JobOptions& options, const JobOptions& typed) {
  if (options["--name"] || typed.command.empty()) return options["--name"].value_or("");
  const std::string& program = typed.command.front();
  return program.substr(program.rfind('/') + 1);
}

/// An array, with a point for each task; of an array that was asked for, how many tasks at once.
Expected<void> take_sweep(Json& body, const JobOptions& options, const Sweep& sweep) {
  const auto& at_once = options["--at-once"];
  const auto& array = options["--array"];
  const bool is_sweep = !sweep.names.empty();
  if (!is_sweep && !at_once) return {};
  if (!is_sweep && !array) {
    return refuse("--at-once", *at_once,
                  "is for jobs of --array, --param, --param-file and --lines");
  }
  if (is_sweep && array) {
    return refuse("--array", *array,
                  "with a sweep, which numbers its jobs by itself; for some at once say "
                  "--at-once N");
  }
  if (array && array->contains('%')) {
    return refuse("--at-once", *at_once, "beside --array " + *array + ", which says how many");
  }
  const auto most = at_once ? parse_count(*at_once, limits::kMostTasks) : Expected<std::int64_t>(1);
  if (!most || *most == 0) {
    return refuse("--at-once", *at_once,
                  "is no number from 1 to " + std::to_string(limits::kMostTasks));
  }
  const std::string bound = at_once ? "%" + *at_once : "";
  if (!is_sweep) {
    body["array"] = body["array"].get<std::string>() + bound;
    return {};
  }
  body["parameters"] = sweep.names;
  body["points"] = sweep.points;
  body["array"] = "1-" + std::to_string(sweep.points.size()) + bound;
  return {};
}

std::vector<Point> points_of_sweep(const Sweep& sweep) {
  std::vector<Point> points;
  for (const auto& values : sweep.points) {
    Point& point = points.emplace_back();
    for (std::size_t i = 0; i < sweep.names.size(); ++i) {
      point.push_back({.name = sweep.names[i], .value = values[i]});
    }
  }
  return points;
}

/// The command of a sweep's first job.
std::vector<std::string> first_command(std::vector<std::string> command, const Sweep& sweep) {
  if (!sweep.points.empty()) fill(command, points_of_sweep(sweep).front());
  return command;
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

const std::optional<std::string>& JobOptions::operator[](std::string_view option) const {
  static const std::optional<std::string> kNotGiven;
  const auto found = typed.find(option);
  return found == typed.end() ? kNotGiven : found->second;
}

namespace {

/// What the options of a verb are added to, and the words of its line.
struct Adding {
  CLI::App& verb;
  JobOptions& options;
  const TypedWords& words;
};

std::string names_typed(const FieldOption& option) {
  return std::string(option.letter) + std::string(option.name);
}

/// An option with a value; null where it is not typed.
CLI::Option* add_value(const Adding& to, const FieldOption& option, std::string_view help) {
  const std::string names = names_typed(option);
  if (!may_be_among(to.words, names)) return nullptr;
  return to.verb.add_option(names, to.options[option.name], std::string(help))
      ->type_name(std::string(option.type))
      ->group(title_of(option.group));
}

std::string help_of(const JobField& field) {
  const std::string fallback(field.fallback);
  return std::string(field.meaning) + (fallback.empty() ? "" : " [" + fallback + "]");
}

/// Those of the rows of one group that these verbs have.
void add_fields(const Adding& to, FieldGroup group, FieldVerbs verbs) {
  for (const JobField& field : kJobFields) {
    const FieldOption& option = field.option;
    const bool is_one = !option.type.empty() && option.group == group;
    if (!is_one || option.verbs != verbs || !may_be_among(to.words, names_typed(option))) continue;
    CLI::Option* const added = add_value(to, option, help_of(field));
    if (field.kind == FieldKind::Flag) added->check(CLI::IsMember({"yes", "no"}));
  }
}

/// The option of a field that has no value.
void add_switch(const Adding& to, bool& target, std::string_view name, FieldGroup group) {
  const JobField& field = *find_job_field(name);
  if (!may_be_among(to.words, field.option.name)) return;
  to.verb.add_flag(std::string(field.option.name), target, std::string(field.meaning))
      ->group(title_of(group));
}

}  // namespace

namespace {

/// Null where it is not typed.
CLI::Option* add_no_suspend(const Adding& to) {
  constexpr const char* kName = "--no-suspend";
  if (!may_be_among(to.words, kName)) return nullptr;
  JobOptions& options = to.options;
  CLI::Option* const added = to.verb.add_flag_callback(
      kName, [&options] { options["--suspend"] = "no"; }, "As --suspend no.");
  if (auto* const other = to.verb.get_option_no_throw("--suspend")) added->excludes(other);
  return added;
}

/// Nothing where it is elastic, or that of a list.
std::optional<int> gpus_of(const JobOptions& options) {
  if (options["--gpu-index"] && !options["--gpus"]) return std::nullopt;
  const std::string gpus = options["--gpus"].value_or("1");
  int number = 0;
  const auto read = std::from_chars(gpus.data(), gpus.data() + gpus.size(), number);
  const bool is_whole = read.ec == std::errc() && read.ptr == gpus.data() + gpus.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

/// One value each, so that the command's words are not taken for more of them.
void add_list(const Adding& to, std::vector<std::string>& target, const FieldOption& option,
              const char* help) {
  if (!may_be_among(to.words, option.name)) return;
  to.verb.add_option(std::string(option.name), target, help)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->type_name(std::string(option.type))
      ->group(title_of(option.group));
}

void add_sweep_options(const Adding& to) {
  constexpr auto kGroup = FieldGroup::When;
  add_list(to, to.options.params, {.name = "--param", .type = "NAME=VALUES", .group = kGroup},
           "One job for each value, for all combinations of several: lr=0.1,0.01, "
           "seed=1-5; {lr} in the command, and $BERTH_PARAM_lr. A value with a comma stands in "
           "double quotes, or has \\, for it: 'x=\"a,b\",c'. 1-5 and 1-9:2 are ranges; 1-3-5, "
           "2026-01-01 and a-b are texts.");
  const auto option = [&](const char* name, const char* type, const char* help) {
    add_value(to, {.name = name, .type = type, .group = kGroup}, help);
  };
  option("--param-file", "FILE",
         "One job for each row of a CSV file, or - for standard input; its first row has the "
         "names.");
  option("--lines", "FILE", "One job for each line of the file, or of -: a command for bash.");
}

void add_snapshot_options(const Adding& to) {
  constexpr auto kGroup = FieldGroup::Runs;
  constexpr const char* kName = "--snapshot{.}";
  if (!may_be_among(to.words, kName)) return;  // and of the others each begins with its name
  to.verb
      .add_flag(kName, to.options["--snapshot"],
                "Run in a copy of the code made now: of the git work tree or --snapshot=DIR.")
      ->type_name("DIR")
      ->group(title_of(kGroup));
  add_value(to, {.name = "--snapshot-exclude", .type = "PATTERNS", .group = kGroup},
            "Not copied but linked, as data,*.pt; git's ignored files are so, too.");
  add_value(to, {.name = "--snapshot-limit", .type = "SIZE", .group = kGroup},
            "Largest copy. [1G]");
}

}  // namespace

void add_job_options(CLI::App& verb, JobOptions& options, const TypedWords& words) {
  verb.prefix_command();
  const Adding to{.verb = verb, .options = options, .words = words};
  const auto option = [&](FieldGroup group, const char* name, const char* type, const char* help) {
    add_value(to, {.name = name, .type = type, .group = group}, help);
  };
  add_fields(to, FieldGroup::Needs, FieldVerbs::RunAndSubmit);
  add_switch(to, options.exclusive, "exclusive", FieldGroup::Needs);

  add_fields(to, FieldGroup::When, FieldVerbs::RunAndSubmit);
  if (auto* const added = add_no_suspend(to)) added->group(title_of(FieldGroup::When));
  option(FieldGroup::When, "--after", "JOBS",
         "Start once these have ended well: 7, 7,9-12, 7_3, prep.");
  option(FieldGroup::When, "--after-ok", "JOBS", "The same.");
  option(FieldGroup::When, "--after-any", "JOBS", "Start once these have ended.");
  option(FieldGroup::When, "--after-notok", "JOBS", "Start once these have ended, not well.");

  add_list(to, options.environment,
           {.name = "--env", .type = "NAME=VALUE", .group = FieldGroup::Runs},
           "A variable; NAME alone must be set here.");
  option(FieldGroup::Runs, "--cwd", "DIR", "Working directory. [here]");
  add_snapshot_options(to);

  option(FieldGroup::Failure, "--signal", "SIGNAL@TIME",
         "Send those of its processes that handle it a signal this long before its time limit, as "
         "USR1@60s.");
  for (const FieldGroup group : {FieldGroup::Failure, FieldGroup::Tells, FieldGroup::Policies}) {
    add_fields(to, group, FieldVerbs::RunAndSubmit);
  }
}

void add_submit_options(CLI::App& verb, JobOptions& options, const TypedWords& words) {
  const Adding to{.verb = verb, .options = options, .words = words};
  add_fields(to, FieldGroup::When, FieldVerbs::Submit);
  add_sweep_options(to);
  add_switch(to, options.hold, "held", FieldGroup::When);
  add_fields(to, FieldGroup::Tells, FieldVerbs::Submit);
}

namespace {

/// Without what their meaning says of submissions alone.
void add_options_of(CLI::App& verb, JobOptions& options, bool (*which)(const JobField&)) {
  for (const JobField& field : kJobFields) {
    if (!which(field)) continue;
    std::string help(field.meaning.substr(0, field.meaning.find(';')));
    if (!help.ends_with('.')) help += '.';
    verb.add_option(std::string(field.option.name), options[field.option.name], help)
        ->type_name(std::string(field.option.type));
  }
}

}  // namespace

void add_update_options(CLI::App& verb, JobOptions& options) {
  add_options_of(verb, options, may_be_changed);
  add_no_suspend({.verb = verb, .options = options, .words = {}});
}

void add_adopt_options(CLI::App& verb, JobOptions& options) {
  add_options_of(verb, options, is_of_adoption);
}

Expected<Json> adoption_of(const JobOptions& options) {
  Json json = Json::object();
  if (auto done = take_fields(json, options, kStart, is_of_adoption); !done) {
    return std::unexpected(done.error());
  }
  return json;
}

Expected<Json> change_of(const JobOptions& options, Instant now) {
  Json json = Json::object();
  if (auto done = take_fields(json, options, now, may_be_changed); !done) {
    return std::unexpected(done.error());
  }
  if (!json.empty()) return json;
  std::string all;
  for (const JobField& field : kJobFields) {
    if (may_be_changed(field)) all += (all.empty() ? "" : ", ") + std::string(field.option.name);
  }
  all.replace(all.rfind(", "), 2, " or ");
  return fail(ErrorCode::InvalidArgument, "nothing is to be changed; give " + all);
}

Caller this_caller() {
  Caller caller;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    caller.environment.emplace_back(*entry);
  }
  set_variable(caller.environment, std::string(shim::kBerthUlimit) + "=" + shim::own_ulimits());
  std::error_code failed;
  caller.directory = std::filesystem::current_path(failed).string();
  caller.umask = umask(0);
  umask(caller.umask);
  caller.now = this_instant();
  return caller;
}

namespace {

/// Shells fill in ~ where a word begins, so neither behind `--output=` nor in a script's lines.
void fill_in_home(std::optional<std::string>& path, const Caller& caller) {
  if (!path || (path != "~" && !path->starts_with("~/"))) return;
  const auto home = std::ranges::find(caller.environment, "HOME", name_of);
  if (home != caller.environment.end()) path->replace(0, 1, home->substr(home->find('=') + 1));
}

}  // namespace

Expected<Submission> submission_of(const JobOptions& typed, const Caller& caller) {
  Submission made{.body = Json::object()};
  JobOptions options = typed;
  auto left_out = read_script(options, caller);
  if (!left_out) return std::unexpected(left_out.error());
  made.warnings = std::move(*left_out);
  for (const char* const path : {"--output", "--cwd"}) fill_in_home(options[path], caller);
  if (options["--notify-on"] && !options["--notify"]) options["--notify"] = own_address();
  if (options["--notify"]) {
    options["--notify"] = address_of(*options["--notify"]);
    const std::string fault = fault_of_address(*options["--notify"]);
    if (!fault.empty()) made.warnings.push_back(fault);
  }
  if (options["--output"]) {
    options["--output"] =
        filled_pattern(*options["--output"], facts_here(name_of_job(options, typed)));
  }
  if (auto unfit = unfit_word(options.command)) return std::unexpected(*unfit);
  const auto directory = directory_of(options, caller);
  if (!directory) return std::unexpected(directory.error());
  if (auto done = take_amounts(made.body, options, caller); !done) {
    return std::unexpected(done.error());
  }
  auto environment = sound(caller, made.warnings);
  shim::drop_inherited(environment);  // here, as what is typed stays whatever berth set before
  if (std::ranges::find(options.environment, kTellsSlurm) != options.environment.end()) {
    std::erase_if(environment, [](const std::string& variable) {  // of a job that submits another
      return variable.starts_with("SLURM_");
    });
  }
  if (auto failed = set_typed(environment, options, caller)) return std::unexpected(*failed);
  std::ranges::move(warnings_of_habits(options, environment), std::back_inserter(made.warnings));
  if (auto warning = warning_of_clock(typed["--time"].value_or("")); !warning.empty()) {
    made.warnings.push_back(std::move(warning));
  }
  const auto sweep = sweep_of(options);
  if (!sweep) return std::unexpected(sweep.error());
  if (options["--gpus"].value_or("1") != "0") {
    GpuHabits habits = habits_of_gpus({.command = options.command,
                                       .directory = *directory,
                                       .gpus = gpus_of(options),
                                       .points = points_of_sweep(*sweep)});
    std::ranges::move(habits.warnings, std::back_inserter(made.warnings));
    made.shares = std::move(habits.shares);
  }
  auto done = check_labels(*sweep, typed);
  if (done) done = take_sweep(made.body, options, *sweep);
  if (done && !sweep->names.empty()) done = check_use(*sweep, options.command, *directory);
  if (!done) return std::unexpected(done.error());
  auto foreseen = look_ahead({.directory = *directory,
                              .command = first_command(options.command, *sweep),
                              .output = options["--output"].value_or(""),
                              .environment = environment,
                              .is_typed = options.command == typed.command});
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
  if (options.hold) made.body["held"] = true;
  if (options["--snapshot"]) {
    made.snapshot = {.folder = *options["--snapshot"] == "." ? "" : *options["--snapshot"],
                     .exclude = options["--snapshot-exclude"],
                     .limit = options["--snapshot-limit"]};
  } else if (options["--snapshot-exclude"] || options["--snapshot-limit"]) {
    return refuse("--snapshot-exclude", options["--snapshot-exclude"].value_or(""),
                  "without --snapshot: nothing is copied");
  }
  return made;
}

std::string unknown_option(std::string_view word) {
  const std::string typed(word.substr(0, word.find('=')));
  CLI::App all;
  JobOptions options;
  add_job_options(all, options);
  add_submit_options(all, options);
  const auto names = option_names(all);
  if (std::ranges::find(names, typed) != names.end()) {
    return std::string(word) + ": is an option of berth submit alone";
  }
  const std::string hint = hint_for(word);
  if (!hint.empty()) return std::string(word) + ": no such option; " + hint;
  return std::string(word) + ": no such option" + did_you_mean(typed, names);
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

std::string submitted_text(const Json& answer) {
  const std::int64_t id = integer_of(answer, "id").value_or(0);
  const std::int64_t jobs = integer_of(answer, "jobs").value_or(1);
  if (isatty(STDOUT_FILENO) == 0) return std::to_string(id) + "\n";
  if (jobs > 1) {
    return "jobs " + std::to_string(id) + "-" + std::to_string(id + jobs - 1) + ", array " +
           std::to_string(id) + "\n";
  }
  return "job " + std::to_string(id) + " " + printable(text_of(answer, "state")) + "\n";
}

}  // namespace berth::cli
