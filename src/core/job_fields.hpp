// The fields of a job that its user states: one table for every door. The API reads and writes by
// its rows (daemon/job_fields.cpp, daemon/row.cpp); the options of `berth submit`, `run` and
// `update` are made of them, as are the words of refusals. doc/openapi.yaml, the tools of
// `berth mcp` and the clients are held to them by tests (test/daemon/job_fields_test.cpp).
//
// A new field is a row here, a member of JobSpec (members.hpp), a line in doc/openapi.yaml, and
// where it is used. One that is no number and no text of JobSpec has a reader in
// daemon/job_fields.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/amounts.hpp"
#include "core/job.hpp"
#include "core/limits.hpp"

namespace berth {

enum class FieldKind : std::uint8_t {
  Flag,
  Text,
  Word,    ///< Of an enumeration.
  Count,   ///< A whole number.
  Size,    ///< Bytes; also as a text, as `10G`.
  Cores,   ///< Counted in thousandths.
  Time,    ///< Counted in microseconds, stated in seconds; also as a text, as `90s`.
  Moment,  ///< Likewise, since 1970, and never as a text.
  List,
  Object,
};

/// How many of what is counted are one of what is stated.
constexpr std::int64_t counted_of_one(FieldKind kind) {
  if (kind == FieldKind::Cores) return 1000;
  return kind == FieldKind::Time || kind == FieldKind::Moment ? 1'000'000 : 1;
}

/// Of a number as it is counted; of a text its bytes, of a list its elements. Without `most` the
/// reader has limits of its own.
struct FieldRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

/// When its user may set it.
enum class FieldSet : std::uint8_t {
  AtSubmission,
  WhileItWaits,  ///< And by an update, until the job starts.
};

/// Which answers have it.
enum class FieldShown : std::uint8_t {
  Never,
  Always,    ///< Of each job.
  IfSaid,    ///< Of each job that says it.
  InDetail,  ///< Of GET /v1/jobs/{id}.
};

/// Where a number or a text is kept. Numbers are as they are counted.
struct FieldMember {
  std::int64_t (*number)(const JobSpec&) = nullptr;
  void (*set_number)(JobSpec&, std::int64_t) = nullptr;
  const std::string& (*text)(const JobSpec&) = nullptr;
  void (*set_text)(JobSpec&, std::string) = nullptr;
  std::int64_t unsaid = 0;  ///< The number of a job that does not say it.
};

/// The groups of options in the help and on the manual page.
enum class FieldGroup : std::uint8_t { Needs, When, Runs, Failure, Tells, Policies };

/// Which verbs have the option.
enum class FieldVerbs : std::uint8_t { RunAndSubmit, Submit };

struct FieldOption {
  std::string_view name = "";  ///< `--vram`; or what stands for it; "": nothing does.
  std::string_view type = "";  ///< Of its value, `SIZE`; "": the option is not made of the row.
  FieldGroup group = FieldGroup::Needs;
  FieldVerbs verbs = FieldVerbs::RunAndSubmit;
  std::string_view letter = "";  ///< `-o,`.
};

struct JobField {
  std::string_view name;
  FieldKind kind;
  FieldRange range = {};
  std::string_view fallback = "";  ///< The default, as in doc/openapi.yaml; "": none.
  FieldSet set = FieldSet::AtSubmission;
  FieldShown shown = FieldShown::Never;
  FieldMember member = {};
  FieldOption option = {};
  /// In the help; what stands behind a semicolon is of submissions, not of updates.
  std::string_view meaning = "";
  std::string_view title = "";  ///< Of its line in `berth show`; "": that is not made of the row.
};

// ---- Members ---------------------------------------------------------------------------------

template <class Tag>
constexpr std::int64_t counted(Quantity<Tag> amount) {
  return amount.raw();
}
constexpr std::int64_t counted(Duration time) { return micros(time); }
constexpr std::int64_t counted(Instant at) { return micros(at); }
constexpr std::int64_t counted(std::integral auto number) { return number; }

template <class Number>
constexpr void set_counted(Number& target, std::int64_t count) {
  if constexpr (std::same_as<Number, Instant>) {
    target = instant_from_micros(count);
  } else {
    target = static_cast<Number>(count);
  }
}

/// What `Path` leads to; `edit` and `at` are how its owner is reached.
template <class Owner, auto... Path>
struct MemberAt {
  static const auto& get(const JobSpec& spec) { return (Owner::at(spec).*....*Path); }
  static auto& edit(JobSpec& spec) { return (Owner::edit(spec).*....*Path); }

  static constexpr FieldMember number(std::int64_t unsaid) {
    return {.number = [](const JobSpec& spec) { return counted(get(spec)); },
            .set_number = [](JobSpec& spec, std::int64_t n) { set_counted(edit(spec), n); },
            .unsaid = unsaid};
  }
  static constexpr FieldMember text() {
    return {.text = [](const JobSpec& spec) -> const std::string& { return get(spec); },
            .set_text = [](JobSpec& spec, std::string text) { edit(spec) = std::move(text); }};
  }
};
struct SpecOwner {
  static const JobSpec& at(const JobSpec& spec) { return spec; }
  static JobSpec& edit(JobSpec& spec) { return spec; }
};
struct ConditionsOwner {
  static const Conditions& at(const JobSpec& spec) { return *spec.conditions; }
  static Conditions& edit(JobSpec& spec) { return spec.conditions.edit(); }
};

template <auto... Path>
constexpr FieldMember number_in(std::int64_t unsaid = 0) {
  return MemberAt<SpecOwner, Path...>::number(unsaid);
}
template <auto Member>
constexpr FieldMember number_of_gpus(std::int64_t unsaid = 0) {
  return number_in<&JobSpec::request, &Request::gpu, Member>(unsaid);
}
template <auto Member>
constexpr FieldMember text_in = MemberAt<SpecOwner, Member>::text();
template <auto Member>
constexpr FieldMember number_in_conditions = MemberAt<ConditionsOwner, Member>::number(0);
template <auto Member>
constexpr FieldMember text_in_conditions = MemberAt<ConditionsOwner, Member>::text();

// ---- The table -------------------------------------------------------------------------------

namespace limits {
inline constexpr FieldRange kGpuRange{1, kMostGpus};
inline constexpr FieldRange kMemoryRange{kLeastPlain.raw(), kMostMemory.raw()};
inline constexpr FieldRange kTimeRange{1, micros(kLongestTime)};
inline constexpr FieldRange kMomentRange{1, micros(kLastInstant)};
}  // namespace limits

/// All there are, in the order of the help.
inline constexpr auto kJobFields = std::to_array<JobField>({
    {.name = "vram_bytes",
     .kind = FieldKind::Size,
     .range = limits::kMemoryRange,
     .set = FieldSet::WhileItWaits,
     .shown = FieldShown::Always,
     .member = number_of_gpus<&GpuRequest::vram>(),
     .option = {"--vram", "SIZE"},
     .meaning = "Memory on each GPU, as 10G; max: the whole GPU, alone."},
    {.name = "vram_shrink",
     .kind = FieldKind::Flag,
     .option = {"--vram-shrink", "yes|no"},
     .meaning = "After a warm-up, charge what the job held most and a margin."},
    {.name = "gpus",
     .kind = FieldKind::Count,
     .range = {0, limits::kMostGpus},
     .fallback = "1",
     .set = FieldSet::WhileItWaits,
     .shown = FieldShown::Always,  // as `gpu_count`: `gpus` are those that it has
     .member = number_of_gpus<&GpuRequest::count>(),
     .option = {"--gpus", "N"},
     .meaning = "Number of GPUs; 0 for none."},
    {.name = "min_gpus",
     .kind = FieldKind::Count,
     .range = limits::kGpuRange,
     .shown = FieldShown::IfSaid,
     .member = number_of_gpus<&GpuRequest::min>(),
     .option = {"--min-gpus", "N"},
     .meaning = "Fewest GPUs, under elastic policies.",
     .title = "fewest GPUs"},
    {.name = "max_gpus",
     .kind = FieldKind::Count,
     .range = limits::kGpuRange,
     .shown = FieldShown::IfSaid,
     .member = number_of_gpus<&GpuRequest::max>(),
     .option = {"--max-gpus", "N"},
     .meaning = "Most GPUs, under elastic policies.",
     .title = "most GPUs"},
    {.name = "gpu_types",
     .kind = FieldKind::List,
     .set = FieldSet::WhileItWaits,
     .option = {"--gpu-type", "TYPES"},
     .meaning = "Accepted types, separated by commas; see berth gpus."},
    {.name = "gpu_indices",
     .kind = FieldKind::List,
     .range = {1, kMostInSet},
     .set = FieldSet::WhileItWaits,
     .shown = FieldShown::Always,
     .option = {"--gpu-index", "GPUS"},
     .meaning = "Accepted GPUs, as 0,2 or 0-3; without --gpus all of them."},
    {.name = "share",
     .kind = FieldKind::Text,
     .option = {"--share", "MODE"},
     .meaning = "exclusive, timeslice, mps, or mig:PROFILE: an instance like mig:3g.40gb."},
    {.name = "gpu_milli",
     .kind = FieldKind::Count,
     .range = {1, kWholeGpu.raw()},
     .shown = FieldShown::IfSaid,
     .member = number_of_gpus<&GpuRequest::milli>(),
     .option = {"--gpu-milli", "N"},
     .meaning = "Thousandths of each GPU's compute.",
     .title = "GPU milli"},
    {.name = "gpu_processes",
     .kind = FieldKind::Count,
     .range = {1, limits::kMostGpuProcesses},
     .fallback = "1",
     .shown = FieldShown::IfSaid,
     .member = number_of_gpus<&GpuRequest::processes>(1),
     .option = {"--gpu-processes", "N"},
     .meaning = "Processes on each GPU, as ranks of MPI; each is charged a context.",
     .title = "GPU processes"},
    {.name = "cpus",
     .kind = FieldKind::Cores,
     .range = {1, limits::kMostCores.raw()},
     .shown = FieldShown::Always,
     .member = number_in<&JobSpec::request, &Request::cpu>(),
     .option = {"--cpus", "CORES"},
     .meaning = "CPU cores, as 0.5."},
    {.name = "mem_bytes",
     .kind = FieldKind::Size,
     .range = limits::kMemoryRange,
     .shown = FieldShown::Always,
     .member = number_in<&JobSpec::request, &Request::host>(),
     .option = {"--mem", "SIZE"},
     .meaning = "Host memory, as 16G."},
    {.name = "pids",
     .kind = FieldKind::Count,
     .range = {1, limits::kMostProcesses},
     .shown = FieldShown::InDetail,
     .option = {"--pids", "N"},
     .meaning = "Most processes and threads at once."},
    {.name = "exclusive",
     .kind = FieldKind::Flag,
     .fallback = "false",
     .shown = FieldShown::Always,
     .option = {"--exclusive"},
     .meaning = "Share the GPUs with no other job."},

    {.name = "class",
     .kind = FieldKind::Word,
     .fallback = "medium",
     .shown = FieldShown::Always,
     .option = {"--class", "CLASS", FieldGroup::When},
     .meaning = "One of short, medium, long, service."},
    {.name = "time_limit_seconds",
     .kind = FieldKind::Time,
     .range = limits::kTimeRange,
     .set = FieldSet::WhileItWaits,
     .shown = FieldShown::Always,
     .member = number_in<&JobSpec::time_limit>(micros(kForever)),
     .option = {"--time", "DURATION", FieldGroup::When},
     .meaning = "Time limit, as 90s, 30min, 1h30m, 2d, 1:30:00."},
    {.name = "estimate_seconds",
     .kind = FieldKind::Time,
     .range = limits::kTimeRange,
     .shown = FieldShown::IfSaid,
     .member = number_in<&JobSpec::estimate>(micros(kForever)),
     .option = {"--estimate", "DURATION", FieldGroup::When},
     .meaning = "Expected run time; the job is not ended then. [learned from runs of the same "
                "program]"},
    {.name = "deadline_at",
     .kind = FieldKind::Moment,
     .range = limits::kMomentRange,
     .shown = FieldShown::IfSaid,
     .member = number_in<&JobSpec::deadline>(micros(kNever)),
     .option = {"--deadline", "DURATION", FieldGroup::When},
     .meaning = "Time from now by which the job should end.",
     .title = "deadline"},
    {.name = "priority",
     .kind = FieldKind::Count,
     .range = {0, limits::kMostPriority},
     .fallback = "0",
     .set = FieldSet::WhileItWaits,
     .shown = FieldShown::IfSaid,
     .member = number_in<&JobSpec::priority>(),
     .option = {"--priority", "N", FieldGroup::When},
     .meaning = "Larger goes first among your own waiting jobs, and under policy priority among "
                "all.",
     .title = "priority"},
    {.name = "after",
     .kind = FieldKind::List,
     .range = {0, limits::kMostDependencies},
     .shown = FieldShown::IfSaid,
     .option = {"--after"}},
    {.name = "begin_at",
     .kind = FieldKind::Moment,
     .range = limits::kMomentRange,
     .shown = FieldShown::IfSaid,
     .member = number_in_conditions<&Conditions::begin>,
     .option = {"--begin", "TIME", FieldGroup::When, FieldVerbs::Submit},
     .meaning = "Do not start before: +2h, 22:00, 2026-11-24T22:00.",
     .title = "begins"},
    {.name = "array",
     .kind = FieldKind::Text,
     .shown = FieldShown::Always,
     .option = {"--array", "TASKS", FieldGroup::When, FieldVerbs::Submit},
     .meaning = "One job for each: 1-100, 0,3,7-9, 1-100%8 (8 at once)."},
    {.name = "unique",
     .kind = FieldKind::Text,
     .range = {0, limits::kMostUnique},
     .shown = FieldShown::Always,  // and hidden from others
     .member = text_in_conditions<&Conditions::unique>,
     .option = {"--unique", "KEY", FieldGroup::When, FieldVerbs::Submit},
     .meaning = "Submit nothing if a job of yours with this key waits or runs."},
    {.name = "held",
     .kind = FieldKind::Flag,
     .fallback = "false",
     .option = {"--hold"},
     .meaning = "Keep the job from starting until `berth release`."},

    {.name = "command",
     .kind = FieldKind::List,
     .shown = FieldShown::InDetail,
     .option = {"the command"}},
    {.name = "environment", .kind = FieldKind::List, .option = {"--env"}},
    {.name = "directory",
     .kind = FieldKind::Text,
     .range = {1, limits::kMostPath},
     .shown = FieldShown::InDetail,
     .option = {"--cwd"}},
    {.name = "snapshot",
     .kind = FieldKind::Text,
     .range = {1, limits::kMostPath},
     .shown = FieldShown::InDetail,
     .option = {"--snapshot"}},
    {.name = "program_words", .kind = FieldKind::List, .option = {"the command's files and --env"}},
    {.name = "umask", .kind = FieldKind::Count, .range = {0, 0777}, .fallback = "18"},
    {.name = "attach", .kind = FieldKind::Object},

    {.name = "warning_signal",
     .kind = FieldKind::Text,
     .shown = FieldShown::InDetail,
     .option = {"--signal"}},
    {.name = "warning_seconds",
     .kind = FieldKind::Time,
     .range = limits::kTimeRange,
     .fallback = "60",
     .shown = FieldShown::InDetail,
     .option = {"--signal"}},
    {.name = "retries",
     .kind = FieldKind::Count,
     .range = {0, limits::kMostRetries},
     .fallback = "0",
     .shown = FieldShown::Always,
     .member = number_in<&JobSpec::retries>(),
     .option = {"--retries", "N", FieldGroup::Failure},
     .meaning = "Restarts with more GPU memory after running out."},
    {.name = "requeue_on",
     .kind = FieldKind::List,
     .range = {1, limits::kMostCodes},
     .shown = FieldShown::IfSaid,
     .option = {"--requeue-on", "CAUSES", FieldGroup::Failure},
     .meaning = "Run again after these, as exit:75 or gpu-failure."},
    {.name = "on_preempt",
     .kind = FieldKind::Object,
     .shown = FieldShown::IfSaid,
     .option = {"--on-preempt", "HOW", FieldGroup::Failure},
     .meaning = "How the job saves its state before it gives way, as signal:USR1,grace=60s."},

    {.name = "name",
     .kind = FieldKind::Text,
     .range = {0, limits::kMostName},
     .set = FieldSet::WhileItWaits,
     .shown = FieldShown::Always,
     .option = {"--name", "NAME", FieldGroup::Tells},
     .meaning = "Name of the job in lists."},
    {.name = "notify",
     .kind = FieldKind::Text,
     .range = {0, limits::kMostPath},
     .shown = FieldShown::InDetail,
     .option = {"--notify", "ADDRESS", FieldGroup::Tells},
     .meaning = "Send a message when the job ends: a mail or web address, or a shell command."},
    {.name = "notify_on",
     .kind = FieldKind::Text,
     .fallback = "end",
     .option = {"--notify-on", "EVENTS", FieldGroup::Tells},
     .meaning = "Some of start,end,fail,idle,overuse; without --notify by mail to you."},
    {.name = "output",
     .kind = FieldKind::Text,
     .range = {0, limits::kMostPath},
     .shown = FieldShown::InDetail,
     .option = {"--output", "FILE", FieldGroup::Tells, FieldVerbs::Submit, "-o,"},
     .meaning = "Write output there, too; %j job, %A array, %a task, %x name, %u user."},

    {.name = "job_group",
     .kind = FieldKind::Text,
     .range = {0, limits::kMostLabel},
     .shown = FieldShown::IfSaid,
     .member = text_in<&JobSpec::group>,
     .option = {"--group", "NAME", FieldGroup::Policies},
     .meaning = "Group of your jobs that belong together.",
     .title = "group"},
    {.name = "model",
     .kind = FieldKind::Text,
     .range = {0, limits::kMostLabel},
     .shown = FieldShown::IfSaid,
     .member = text_in<&JobSpec::model>,
     .option = {"--model", "NAME", FieldGroup::Policies},
     .meaning = "Model the job runs, as the table of speeds names it.",
     .title = "model"},
    {.name = "batch",
     .kind = FieldKind::Count,
     .range = {1, limits::kMostBatch},
     .shown = FieldShown::IfSaid,
     .member = number_in<&JobSpec::batch>(),
     .option = {"--batch", "N", FieldGroup::Policies},
     .meaning = "Samples per step, on all GPUs together.",
     .title = "batch"},
});

/// Null for a name that no field has.
constexpr const JobField* find_job_field(std::string_view name) {
  const auto* const found = std::ranges::find(kJobFields, name, &JobField::name);
  return found == kJobFields.end() ? nullptr : found;
}

}  // namespace berth
