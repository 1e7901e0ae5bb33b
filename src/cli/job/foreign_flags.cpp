#include "cli/job/foreign_flags.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/text/amounts.hpp"
#include "core/text/job_fields.hpp"

namespace berth::cli {

namespace {

/// How the value of an #SBATCH option reads here.
enum class Reads : std::uint8_t {
  No,          ///< It has no equal: the line is left out, with a warning.
  Nothing,     ///< What it asks for is so anyway.
  Flag,        ///< As the option `here`, without a value.
  Same,        ///< As the option `here`, with the same value.
  Minutes,     ///< The same, but a plain number is of minutes.
  Mebibytes,   ///< The same, but a plain number is of MiB.
  Gpus,        ///< `2`, `a100:2`.
  Gres,        ///< `gpu`, `gpu:2`, `gpu:a100:2`.
  Dependency,  ///< `afterok:7:8,afterany:9`.
  Export,      ///< `ALL,A=1`; what it leaves out is refused.
  One,         ///< Nothing where it is 1; else left out.
  MailType,    ///< `BEGIN,END,FAIL`, `ALL`, `NONE`.
  Mail,        ///< A mail address; a user's name is of this machine.
};

struct Foreign {
  std::string_view name;    ///< `--job-name`.
  std::string_view letter;  ///< `-J`; "" for none.
  std::string_view hint;
  Reads reads = Reads::No;
  std::string_view here = {};
};

constexpr std::string_view kOneMachine = "a job is one command on one machine; leave it out";
constexpr std::string_view kGpuMemory = "say --vram SIZE, as 10G: memory on each GPU";
constexpr std::string_view kGpusAndMemory = "say --gpus N and --vram SIZE, the memory on each GPU";
constexpr std::string_view kEvents = "say --notify ADDRESS and --notify-on start,end,fail";
constexpr std::string_view kTerminal =
    "berth run gives the job a terminal where there is one; leave it out";
constexpr std::string_view kWhich = "say --gpu-index GPUS for which, --gpus N for how many";
constexpr std::string_view kUsers = "users share by weights, which berthd's configuration has";

constexpr auto kForeign = std::to_array<Foreign>({
    // docker, before sbatch's -i
    {"-it", "", kTerminal},
    {"-ti", "", kTerminal},
    // qsub and bsub, likewise
    {"-cwd", "", "a job begins in the directory that submits it; leave it out"},
    {"-gpu", "", kGpusAndMemory},
    {"-hold_jid", "", "say --after-any JOBS"},
    {"-l", "", "say --gpus N, --vram SIZE, --cpus CORES, --mem SIZE, --time DURATION"},
    {"-pe", "", "say --cpus CORES"},
    {"-R", "", "say --gpus N, --vram SIZE, --cpus CORES, --mem SIZE"},
    {"-V", "", "the whole environment goes along; leave it out"},
    // sbatch
    {"--job-name", "-J", "say --name NAME", Reads::Same, "--name"},
    {"--time", "-t",
     "say --time DURATION; a number without a unit means seconds, so say 90min for 90",
     Reads::Minutes, "--time"},
    {"--gres", "", kGpusAndMemory, Reads::Gres},
    {"--gpus", "-G", "say --gpus N", Reads::Gpus},
    {"--gpus-per-node", "", "say --gpus N", Reads::Gpus},
    {"--gpus-per-task", "", "say --gpus N", Reads::Gpus},
    {"--mem-per-gpu", "", "say --vram SIZE for GPU memory, --mem SIZE for host memory"},
    {"--mem-per-cpu", "", "say --mem SIZE: host memory of the whole job"},
    {"--mem", "", "say --mem SIZE", Reads::Mebibytes, "--mem"},
    {"--cpus-per-task", "-c", "say --cpus CORES", Reads::Same, "--cpus"},
    {"--ntasks", "-n", kOneMachine, Reads::One},
    {"--tasks-per-node", "", kOneMachine, Reads::One},
    {"--ntasks-per-node", "", kOneMachine, Reads::One},
    {"--nodes", "-N", kOneMachine, Reads::One},
    {"--partition", "-p", "there are no partitions; --class and --gpu-type say what a job needs"},
    {"--qos", "-q", "say --class short, medium, long or service"},
    {"--account", "-A", kUsers},
    {"--chdir", "-D", "say --cwd DIR", Reads::Same, "--cwd"},
    {"--workdir", "", "say --cwd DIR", Reads::Same, "--cwd"},
    {"--hold", "-H", "say --hold", Reads::Flag, "--hold"},
    {"--exclusive", "", "say --exclusive", Reads::Flag, "--exclusive"},
    {"--export", "",
     "the whole environment goes along, and --env NAME=VALUE adds to it; sbatch of "
     "berth-slurm-commands honours --export",
     Reads::Export},
    {"--get-user-env", "", "the whole environment goes along", Reads::Nothing},
    {"--constraint", "-C", "say --gpu-type TYPE"},
    {"--wrap", "", "say -- bash -c 'COMMAND'"},
    {"--output", "-o", "say --output FILE; berth logs JOB prints what a job wrote", Reads::Same,
     "--output"},
    {"--error", "-e", "berth logs JOB prints what a job wrote, both streams in order", Reads::No},
    {"--mail-type", "", kEvents, Reads::MailType, "--notify-on"},
    {"--mail-user", "", kEvents, Reads::Mail, "--notify"},
    {"--signal", "", "say --signal USR1@60s", Reads::Same, "--signal"},
    {"--requeue", "", "say --requeue-on exit:75, and --retries N for running out of GPU memory"},
    {"--no-requeue", "", "jobs are not started again unless they ask for it", Reads::Nothing},
    {"--nice", "", "say --priority N"},
    {"--parsable", "", "berth submit prints the number alone where it writes to no terminal",
     Reads::Nothing},
    {"--test-only", "", "say --dry-run"},
    {"--wait", "-W", "say berth run, or berth wait JOB"},
    {"--verbose", "-v", "berth why JOB says more"},
    {"--quiet", "-Q", "leave it out"},
    {"--reservation", "", "leave it out"},
    {"--nodelist", "-w", kOneMachine},
    {"--exclude", "-x", kOneMachine},
    {"--gpu-bind", "", "a job sees its own GPUs only, as 0, 1, ..."},
    {"--input", "-i", "say -- bash -c 'COMMAND <FILE'"},
    {"--array", "-a", "say --array 1-100%8", Reads::Same, "--array"},
    {"--dependency", "-d", "say --after-ok, --after-any or --after-notok JOBS", Reads::Dependency},
    {"--begin", "-b", "say --begin TIME, as +2h", Reads::Same, "--begin"},
    // gflow, pueue, task-spooler, docker
    {"--pty", "", kTerminal},
    {"--interactive", "", kTerminal},
    {"--tty", "", kTerminal},
    {"--background", "", "say berth submit: it does not wait"},
    {"--detach", "", "say berth submit: it does not wait"},
    {"--follow", "-f", "berth run shows what the job writes; berth logs -f JOB follows another"},
    {"--device", "", kWhich},
    {"--devices", "", kWhich},
    {"--gpu-ids", "", kWhich},
    {"--gpu-memory", "", kGpuMemory},
    {"--gpu-mem", "", kGpuMemory},
    {"--gpumem", "", kGpuMemory},
    {"--mem-gpu", "", kGpuMemory},
    {"--memory", "-m", "say --vram SIZE for GPU memory, --mem SIZE for host memory"},
    {"--gpu", "-g", "say --gpus N for how many, --gpu-type TYPE or --gpu-index GPUS for which"},
    {"--shared", "", "jobs share GPUs unless they say --exclusive or no --vram"},
    {"--conda-env", "", "activate it before submitting: the environment goes along"},
    {"--depends-on", "", "say --after JOBS"},
    {"--delay", "", "say --begin +DURATION"},
    {"--max-concurrent", "", "say --array 1-100%8 for at most 8 at once"},
    {"--sweep", "", "say --param lr=0.1,0.01 and {lr} in the command"},
    {"--grid", "", "say --param lr=0.1,0.01 and {lr} in the command"},
    {"--multirun", "", "say --param lr=0.1,0.01 and {lr} in the command"},
    {"--params", "", "say --param lr=0.1,0.01, once for each parameter"},
    {"--arg-file", "", "say --lines FILE for commands, --param-file FILE for values"},
    {"--jobs", "-j", "say --at-once N beside --param, --param-file or --lines"},
    {"--label", "-L", "say --name NAME"},
    {"--stashed", "-s", "say --hold"},
    {"--working-directory", "", "say --cwd DIR"},
    {"--user", "-u", "a job is of the user who submits it"},
    {"--timeout", "", "say --time DURATION"},
    {"--time-limit", "", "say --time DURATION"},
    {"--timelimit", "", "say --time DURATION"},
    {"--walltime", "", "say --time DURATION"},
    {"--retry", "", "say --retries N, for running out of GPU memory"},
    {"--depends", "", "say --after JOBS"},
    {"--log", "", "say --output FILE; berth logs JOB prints what a job wrote"},
    {"--stdout", "", "say --output FILE; berth logs JOB prints what a job wrote"},
    {"--stderr", "", "berth logs JOB prints what a job wrote, both streams in order"},
    {"--vmem", "", kGpuMemory},
    {"--num-gpus", "", "say --gpus N"},
    {"--ngpus", "", "say --gpus N"},
    {"--env-file", "", "the whole environment goes along, and --env NAME=VALUE adds to it"},
    {"--conda", "", "activate it before submitting: the environment goes along"},
    {"--venv", "", "activate it before submitting: the environment goes along"},
});

static_assert(std::ranges::all_of(kForeign,
                                  [](const Foreign& foreign) {
                                    const auto is_it = [&](const JobField& field) {
                                      return field.option.name == foreign.here;
                                    };
                                    return foreign.here.empty() ||
                                           std::ranges::any_of(kJobFields, is_it);
                                  }),
              "each option here is one of a job's fields");

/// The part before `=`.
std::string_view option_of(std::string_view word) { return word.substr(0, word.find('=')); }

const Foreign* find_foreign(std::string_view word) {
  const std::string_view option = option_of(word);
  const auto is_it = [&](const Foreign& foreign) {
    if (foreign.name == option) return true;
    return !foreign.letter.empty() && !word.starts_with("--") && word.starts_with(foreign.letter);
  };
  const auto* const found = std::ranges::find_if(kForeign, is_it);
  return found == kForeign.end() ? nullptr : found;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// `2` or `a100:2` or `a100`.
SbatchMeaning gpus_of(std::string_view value) {
  SbatchMeaning meaning;
  const std::size_t colon = value.rfind(':');
  const bool has_count = is_digits(value.substr(colon + 1));  // npos + 1 is 0
  const std::string_view count = has_count ? value.substr(colon + 1) : "1";
  const std::string_view type = !has_count                        ? value
                                : colon == std::string_view::npos ? ""
                                                                  : value.substr(0, colon);
  meaning.words = {"--gpus", std::string(count)};
  if (!type.empty()) meaning.words.insert(meaning.words.end(), {"--gpu-type", std::string(type)});
  return meaning;
}

SbatchMeaning gres_of(std::string_view value, std::string_view hint) {
  if (value == "gpu") return gpus_of("1");
  if (value.starts_with("gpu:") && !value.contains(',')) return gpus_of(value.substr(4));
  return {.words = {}, .left_out = std::string(hint)};
}

/// Slurm takes every task of an array where its number stands; so does berth.
SbatchMeaning dependencies_of(std::string_view value, std::string_view hint) {
  SbatchMeaning meaning;
  const SbatchMeaning no = {.words = {}, .left_out = std::string(hint), .is_refused = true};
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t comma = std::min(value.find_first_of(",?", at), value.size());
    const std::string_view part = value.substr(at, comma - at);
    if (comma < value.size() && value[comma] == '?') return no;  // one of several is enough
    at = comma + 1;
    const std::size_t colon = part.find(':');
    const std::string_view kind = part.substr(0, colon);
    const bool is_known = kind == "afterok" || kind == "afterany" || kind == "afternotok";
    if (!is_known || colon == std::string_view::npos) return no;
    std::string jobs(part.substr(colon + 1));
    std::ranges::replace(jobs, ':', ',');
    const std::string option = "--after-" + std::string(kind.substr(5));
    if (std::ranges::find(meaning.words, option) != meaning.words.end()) return no;
    meaning.words.insert(meaning.words.end(), {option, jobs});
  }
  return meaning;
}

/// Variables may be added, and none left out.
SbatchMeaning export_of(std::string_view value, std::string_view hint) {
  SbatchMeaning meaning;
  bool has_all = value.empty();
  while (!value.empty()) {
    const std::string_view word = value.substr(0, value.find(','));
    value.remove_prefix(std::min(value.size(), word.size() + 1));
    has_all = has_all || word == "ALL";
    if (word != "ALL") meaning.words.insert(meaning.words.end(), {"--env", std::string(word)});
  }
  if (has_all) return meaning;
  return {.words = {}, .left_out = std::string(hint), .is_refused = true};
}

SbatchMeaning occasions_of(std::string_view value, const Foreign& known) {
  std::string list;
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t comma = std::min(value.find(',', at), value.size());
    const std::string_view kind = value.substr(at, comma - at);
    at = comma + 1;
    if (kind == "NONE") return {};
    const std::string_view words = kind == "BEGIN"  ? "start"
                                   : kind == "END"  ? "end"
                                   : kind == "FAIL" ? "fail"
                                   : kind == "ALL"  ? "start,end"
                                                    : "";
    if (words.empty()) return {.words = {}, .left_out = std::string(known.hint)};
    list += (list.empty() ? "" : ",") + std::string(words);
  }
  return {.words = {std::string(known.here), list}, .left_out = ""};
}

}  // namespace

std::string hint_for(std::string_view word) {
  const Foreign* const known = find_foreign(word);
  return known == nullptr ? "" : std::string(known->hint);
}

namespace {

/// What Slurm tells of an option as it was typed; of the rest berthd tells. The commands of
/// clients/slurm have the same table (request.py), and a test compares what jobs of both are told.
struct ToldOption {
  std::string_view option;
  std::array<std::string_view, 4> variables;
};
constexpr auto kToldOptions = std::to_array<ToldOption>({
    {"--partition", {"SLURM_JOB_PARTITION"}},
    {"--account", {"SLURM_JOB_ACCOUNT"}},
    {"--qos", {"SLURM_JOB_QOS"}},
    {"--ntasks", {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_TASKS_PER_NODE"}},
    {"--ntasks-per-node",
     {"SLURM_NTASKS_PER_NODE", "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_TASKS_PER_NODE"}},
    {"--cpus-per-task", {"SLURM_CPUS_PER_TASK"}},
    {"--gpus", {"SLURM_GPUS"}},
    {"--gpus-per-node", {"SLURM_GPUS_PER_NODE"}},
    {"--gpus-per-task", {"SLURM_GPUS_PER_TASK"}},
    {"--mem", {"SLURM_MEM_PER_NODE"}},
    {"--mem-per-cpu", {"SLURM_MEM_PER_CPU"}},
    {"--mem-per-gpu", {"SLURM_MEM_PER_GPU"}},
});

/// The least and the largest number of a list as `3-7:2%4`, and the step.
std::vector<std::string> told_of_array(std::string_view value) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = -1;
  std::string_view list = value.substr(0, value.find_first_of(":%"));
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(",-"), list.size());
    std::int64_t number = 0;
    const auto read = std::from_chars(list.data(), list.data() + end, number);
    if (read.ec == std::errc() && read.ptr == list.data() + end) {
      least = std::min(least, number);
      most = std::max(most, number);
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  if (most < 0) return {};
  std::string step = "1";
  if (const std::size_t colon = value.find(':'); colon != value.npos) {
    const std::string_view rest = value.substr(colon + 1);
    step = rest.substr(0, rest.find_first_not_of("0123456789"));
  }
  return {"SLURM_ARRAY_TASK_MIN=" + std::to_string(least),
          "SLURM_ARRAY_TASK_MAX=" + std::to_string(most), "SLURM_ARRAY_TASK_STEP=" + step};
}

/// Slurm tells host memory in MiB.
std::string mebibytes_of(std::string_view value) {
  const auto size = parse_size(std::string(value) + (is_digits(value) ? "M" : ""));
  return size ? std::to_string(size->raw() >> 20) : std::string(value);
}

}  // namespace

std::vector<std::string> told_by_slurm(std::string_view option, std::string_view value) {
  std::vector<std::string> told;
  const Foreign* const known = find_foreign(option);
  if (known == nullptr || value.empty()) return told;
  if (known->name == "--array") return told_of_array(value);
  const auto* const found = std::ranges::find(kToldOptions, known->name, &ToldOption::option);
  if (found == kToldOptions.end()) return told;
  const bool is_size = known->name.starts_with("--mem");
  const std::string text = is_size ? mebibytes_of(value) : std::string(value);
  for (const std::string_view variable : found->variables) {
    if (!variable.empty()) told.push_back(std::string(variable) + "=" + text);
  }
  return told;
}

bool is_sbatch_flag(std::string_view option) {
  const Foreign* const known = find_foreign(option);
  if (known == nullptr) return false;
  return known->reads == Reads::Flag || known->reads == Reads::Nothing;
}

SbatchMeaning meaning_of_sbatch(std::string_view option, std::string_view value) {
  const Foreign* const known = find_foreign(option);
  if (known == nullptr) return {.words = {}, .left_out = "berth does not know it"};
  const auto with = [&](std::string_view unit) -> SbatchMeaning {
    return {.words = {std::string(known->here), std::string(value) + std::string(unit)},
            .left_out = ""};
  };
  switch (known->reads) {
    case Reads::No:
      break;
    case Reads::Nothing:
      return {};
    case Reads::Flag:
      return {.words = {std::string(known->here)}, .left_out = ""};
    case Reads::Same:
      return with("");
    case Reads::Minutes:
      return with(is_digits(value) ? "min" : "");
    case Reads::Mebibytes:
      return with(is_digits(value) ? "M" : "");
    case Reads::Gpus:
      return gpus_of(value);
    case Reads::Gres:
      return gres_of(value, known->hint);
    case Reads::Dependency:
      return dependencies_of(value, known->hint);
    case Reads::Export:
      return export_of(value, known->hint);
    case Reads::One:
      if (value == "1") return {};
      break;
    case Reads::MailType:
      return occasions_of(value, *known);
    case Reads::Mail:
      return with(value.contains('@') ? "" : "@localhost");
  }
  return {.words = {}, .left_out = std::string(known->hint)};
}

}  // namespace berth::cli
