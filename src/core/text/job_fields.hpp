// The fields of a job that its user states: one table for every door. The API reads and writes by
// its rows (daemon/requests/job_fields.cpp, daemon/answers/row.cpp); the options of `berth submit`,
// `run` and `update` are made of them, as are the words of refusals. doc/openapi.yaml, the tools of
// `berth mcp` and the clients are held to them by tests (test/daemon/requests/job_fields_test.cpp).
//
// A new field is a row here, a member of JobSpec (members.hpp), a line in doc/openapi.yaml, and
// where it is used. One that is no number and no text of JobSpec has a reader in
// daemon/requests/job_fields.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/limits.hpp"
#include "core/job.hpp"
#include "core/text/amounts.hpp"

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
  UntilItEnds,   ///< And by an update.
};

/// Which answers have it.
enum class FieldShown : std::uint8_t {
  Never,
  Always,    ///< Of each job; `gpus` as `gpu_count`, since `gpus` are those that it has.
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
  std::string_view name = {};  ///< `--vram`; or what stands for it; "": nothing does.
  std::string_view type = {};  ///< Of its value, `SIZE`; "": the option is not made of the row.
  FieldGroup group = FieldGroup::Needs;
  FieldVerbs verbs = FieldVerbs::RunAndSubmit;
  std::string_view letter = {};  ///< `-o,`.
};

struct JobField {
  std::string_view name;
  FieldKind kind;
  FieldRange range = {};
  std::string_view fallback = {};  ///< The default, as in doc/openapi.yaml; "": none.
  FieldSet set = FieldSet::AtSubmission;
  FieldShown shown = FieldShown::Never;
  FieldMember member = {};
  FieldOption option = {};
  /// In the help; what stands behind a semicolon is of submissions, not of updates.
  std::string_view meaning = {};
  std::string_view title = {};  ///< Of its line in `berth show`; "": that is not made of the row.
};

constexpr bool may_be_changed(const JobField& field) { return field.set != FieldSet::AtSubmission; }
/// True for what may be said of a process that was started by hand (`berth adopt`).
constexpr bool is_of_adoption(const JobField& field) {
  return field.name == "vram_bytes" || field.name == "time_limit_seconds" || field.name == "name" ||
         field.name == "comment";
}

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

template <class Value>
constexpr Value& unboxed(Value& value) {
  return value;  // NOLINT(bugprone-return-const-ref-from-parameter): a member
}
template <class Value>
Value& unboxed(Boxed<Value>& box) {
  return box.edit();
}
template <class Value>
const Value& unboxed(const Boxed<Value>& box) {
  return *box;
}
/// The member of a member that a path leads to.
template <class Object, class Member, class... Rest>
auto& member_at(Object& object, Member member, Rest... rest) {
  auto& next = unboxed(object.*member);
  if constexpr (sizeof...(rest) == 0) {
    return next;
  } else {
    return member_at(next, rest...);
  }
}

template <auto... Path>
constexpr FieldMember number_in(std::int64_t unsaid = 0) {
  return {
      .number = [](const JobSpec& spec) { return counted(member_at(spec, Path...)); },
      .set_number = [](JobSpec& spec, std::int64_t n) { set_counted(member_at(spec, Path...), n); },
      .unsaid = unsaid};
}
template <auto Member>
constexpr FieldMember number_of_gpus(std::int64_t unsaid = 0) {
  return number_in<&JobSpec::request, &Request::gpu, Member>(unsaid);
}
template <auto... Path>
constexpr FieldMember text_in() {
  return {
      .text = [](const JobSpec& spec) -> const std::string& { return member_at(spec, Path...); },
      .set_text = [](JobSpec& spec,
                     std::string text) { member_at(spec, Path...) = std::move(text); }};
}

// ---- The table -------------------------------------------------------------------------------

/// All there are, in the order of the help.
inline constexpr auto kJobFields = [] {
  using enum FieldKind;
  using enum FieldSet;
  using enum FieldShown;
  using enum FieldGroup;
  using enum FieldVerbs;
  constexpr FieldRange kNoRange;
  constexpr FieldMember kReadApart;  // by a reader of its own
  constexpr FieldRange kMemory{kLeastPlain.raw(), limits::kMostMemory.raw()};
  constexpr FieldRange kGpus{1, limits::kMostGpus};
  constexpr FieldRange kTime{1, micros(limits::kLongestTime)};
  constexpr FieldRange kMoment{1, micros(limits::kLastInstant)};
  return std::to_array<JobField>({
      {"vram_bytes", Size, kMemory, "", WhileItWaits, Always, number_of_gpus<&GpuRequest::vram>(),
       FieldOption{"--vram", "SIZE"}, "Memory on each GPU, as 10G; max: the whole GPU, alone."},
      {"vram_shrink", Flag, kNoRange, "", AtSubmission, Never, kReadApart,
       FieldOption{"--vram-shrink", "yes|no"},
       "After a warm-up, charge what the job held most and a margin."},
      {"gpus", Count, FieldRange{0, limits::kMostGpus}, "1", WhileItWaits, Always,
       number_of_gpus<&GpuRequest::count>(), FieldOption{"--gpus", "N"},
       "Number of GPUs; 0 for none."},
      {"min_gpus", Count, kGpus, "", AtSubmission, IfSaid, number_of_gpus<&GpuRequest::min>(),
       FieldOption{"--min-gpus", "N"}, "Fewest GPUs, under elastic policies.", "fewest GPUs"},
      {"max_gpus", Count, kGpus, "", AtSubmission, IfSaid, number_of_gpus<&GpuRequest::max>(),
       FieldOption{"--max-gpus", "N"}, "Most GPUs, under elastic policies.", "most GPUs"},
      {"gpu_types", List, kNoRange, "", WhileItWaits, Never, kReadApart,
       FieldOption{"--gpu-type", "TYPES"}, "Accepted types, separated by commas; see berth gpus."},
      {"gpu_indices", List, FieldRange{1, kMostInSet}, "", WhileItWaits, Always, kReadApart,
       FieldOption{"--gpu-index", "GPUS"},
       "Accepted GPUs, as 0,2 or 0-3; without --gpus all of them."},
      {"share", Text, kNoRange, "", WhileItWaits, IfSaid, kReadApart,
       FieldOption{"--share", "MODE"},
       "When to join other jobs: now, patient or never; and how, as now,mps: timeslice, mps or "
       "mig:PROFILE, an instance like mig:3g.40gb.",
       "share"},
      {"gpu_milli", Count, FieldRange{1, kWholeGpu.raw()}, "", AtSubmission, IfSaid,
       number_of_gpus<&GpuRequest::milli>(), FieldOption{"--gpu-milli", "N"},
       "Thousandths of each GPU's compute.", "GPU milli"},
      {"gpu_processes", Count, FieldRange{1, limits::kMostGpuProcesses}, "1", AtSubmission, IfSaid,
       number_of_gpus<&GpuRequest::processes>(1), FieldOption{"--gpu-processes", "N"},
       "Processes on each GPU, as ranks of MPI; each is charged a context.", "GPU processes"},
      {"cpus", Cores, FieldRange{1, limits::kMostCores.raw()}, "", WhileItWaits, Always,
       number_in<&JobSpec::request, &Request::cpu>(), FieldOption{"--cpus", "CORES"},
       "CPU cores, as 0.5."},
      {"mem_bytes", Size, kMemory, "", WhileItWaits, Always,
       number_in<&JobSpec::request, &Request::host>(), FieldOption{"--mem", "SIZE"},
       "Host memory, as 16G."},
      {"pids", Count, FieldRange{1, limits::kMostProcesses}, "", AtSubmission, InDetail, kReadApart,
       FieldOption{"--pids", "N"}, "Most processes and threads at once."},
      {"exclusive", Flag, kNoRange, "false", AtSubmission, Always, kReadApart,
       FieldOption{"--exclusive"}, "Share the GPUs with no other job."},
      {"class", Word, kNoRange, "medium", AtSubmission, Always, kReadApart,
       FieldOption{"--class", "CLASS", When}, "One of short, medium, long, service."},
      {"time_limit_seconds", Time, kTime, "", UntilItEnds, Always,
       number_in<&JobSpec::time_limit>(micros(kForever)), FieldOption{"--time", "DURATION", When},
       "Time limit, as 90s, 30min, 1h30m, 2d, 1:30:00."},
      {"estimate_seconds", Time, kTime, "", AtSubmission, IfSaid,
       number_in<&JobSpec::estimate>(micros(kForever)), FieldOption{"--estimate", "DURATION", When},
       "Expected run time; the job is not ended then. [learned from runs of the same program]"},
      {"deadline_at", Moment, kMoment, "", AtSubmission, IfSaid,
       number_in<&JobSpec::deadline>(micros(kNever)), FieldOption{"--deadline", "DURATION", When},
       "Time from now by which the job should end.", "deadline"},
      {"suspend", Flag, kNoRange, "", UntilItEnds, IfSaid, kReadApart,
       FieldOption{"--suspend", "yes|no", When},
       "Whether other jobs may run in its place while it is suspended; by default they may, but "
       "not "
       "of services, jobs of several GPUs and jobs at a terminal."},
      {"priority", Count, FieldRange{0, limits::kMostPriority}, "0", WhileItWaits, IfSaid,
       number_in<&JobSpec::priority>(), FieldOption{"--priority", "N", When},
       "Larger goes first among your own waiting jobs, and under policy priority among all.",
       "priority"},
      {"after", List, FieldRange{0, limits::kMostDependencies}, "", AtSubmission, IfSaid,
       kReadApart, FieldOption{"--after"}},
      {"begin_at", Moment, kMoment, "", WhileItWaits, IfSaid,
       number_in<&JobSpec::conditions, &Conditions::begin>(),
       FieldOption{"--begin", "TIME", When, Submit},
       "Do not start before: +2h, 22:00, 2026-11-24T22:00.", "begins"},
      {"array", Text, kNoRange, "", AtSubmission, Always, kReadApart,
       FieldOption{"--array", "TASKS", When, Submit},
       "One job for each: 1-100, 0,3,7-9, 1-100%8 (8 at once)."},
      {"array_at_once", Count, FieldRange{1, limits::kMostTasks}, "", UntilItEnds, IfSaid,
       number_in<&JobSpec::conditions, &Conditions::array, &ArrayPlace::at_once>(),
       FieldOption{"--at-once", "N", When, Submit},
       "Most jobs of an array or a sweep that wait for a place or run at once."},
      {"parameters", List, FieldRange{1, limits::kMostParameters}, "", AtSubmission, IfSaid,
       kReadApart, FieldOption{"--param"}},
      {"points", List, FieldRange{1, limits::kMostTasks}, "", AtSubmission, Never, kReadApart,
       FieldOption{"--param"}},
      {"unique", Text, FieldRange{0, limits::kMostUnique}, "", AtSubmission, Always,
       text_in<&JobSpec::conditions, &Conditions::unique>(),
       FieldOption{"--unique", "KEY", When, Submit},
       "Submit nothing if a job of yours with this key waits or runs."},
      {"held", Flag, kNoRange, "false", AtSubmission, Never, kReadApart, FieldOption{"--hold"},
       "Keep the job from starting until `berth release`."},
      {"command", List, kNoRange, "", AtSubmission, InDetail, kReadApart,
       FieldOption{"the command"}},
      {"environment", List, kNoRange, "", AtSubmission, Never, kReadApart, FieldOption{"--env"}},
      {"directory", Text, FieldRange{1, limits::kMostPath}, "", AtSubmission, InDetail, kReadApart,
       FieldOption{"--cwd"}},
      {"snapshot", Text, FieldRange{1, limits::kMostPath}, "", AtSubmission, InDetail, kReadApart,
       FieldOption{"--snapshot"}},
      {"program_words", List, kNoRange, "", AtSubmission, Never, kReadApart,
       FieldOption{"the command's files and --env"}},
      {"umask", Count, FieldRange{0, 0777}, "18", AtSubmission, Never},
      {"attach", Object, kNoRange, "", AtSubmission, Never},
      {"warning_signal", Text, kNoRange, "", AtSubmission, InDetail, kReadApart,
       FieldOption{"--signal"}},
      {"warning_seconds", Time, kTime, "60", AtSubmission, InDetail, kReadApart,
       FieldOption{"--signal"}},
      {"retries", Count, FieldRange{0, limits::kMostRetries}, "0", AtSubmission, Always,
       number_in<&JobSpec::retries>(), FieldOption{"--retries", "N", Failure},
       "Restarts with more GPU memory after running out."},
      {"requeue_on", List, FieldRange{1, limits::kMostCodes}, "", AtSubmission, IfSaid, kReadApart,
       FieldOption{"--requeue-on", "CAUSES", Failure},
       "Run again after these, as exit:75 or gpu-failure."},
      {"on_preempt", Object, kNoRange, "", AtSubmission, IfSaid, kReadApart,
       FieldOption{"--on-preempt", "HOW", Failure},
       "How the job saves its state before it gives way, as signal:USR1,grace=60s."},
      {"name", Text, FieldRange{0, limits::kMostName}, "", WhileItWaits, Always, kReadApart,
       FieldOption{"--name", "NAME", Tells}, "Name of the job in lists."},
      {"comment", Text, FieldRange{0, limits::kMostComment}, "", UntilItEnds, IfSaid,
       text_in<&JobSpec::conditions, &Conditions::comment>(),
       FieldOption{"--comment", "NOTE", Tells}, "For yourself; berth show has it.", "comment"},
      {"notify", Text, FieldRange{0, limits::kMostPath}, "", AtSubmission, InDetail, kReadApart,
       FieldOption{"--notify", "ADDRESS", Tells},
       "Send a message when the job ends: a mail or web address, or a shell command."},
      {"notify_on", Text, kNoRange, "end", AtSubmission, Never, kReadApart,
       FieldOption{"--notify-on", "EVENTS", Tells},
       "Some of start,end,fail,idle,overuse; without --notify by mail to you."},
      {"output", Text, FieldRange{0, limits::kMostPath}, "", AtSubmission, InDetail, kReadApart,
       FieldOption{"--output", "FILE", Tells, Submit, "-o,"},
       "Write output there, too; %j job, %A array, %a task, %x name, %u user."},
      {"job_group", Text, FieldRange{0, limits::kMostLabel}, "", AtSubmission, IfSaid,
       text_in<&JobSpec::group>(), FieldOption{"--group", "NAME", Policies},
       "Group of your jobs that belong together.", "group"},
      {"model", Text, FieldRange{0, limits::kMostLabel}, "", AtSubmission, IfSaid,
       text_in<&JobSpec::model>(), FieldOption{"--model", "NAME", Policies},
       "Model the job runs, as the table of speeds names it.", "model"},
      {"batch", Count, FieldRange{1, limits::kMostBatch}, "", AtSubmission, IfSaid,
       number_in<&JobSpec::batch>(), FieldOption{"--batch", "N", Policies},
       "Samples per step, on all GPUs together.", "batch"},
  });
}();

/// Null for a name that no field has.
constexpr const JobField* find_job_field(std::string_view name) {
  const auto* const found = std::ranges::find(kJobFields, name, &JobField::name);
  return found == kJobFields.end() ? nullptr : found;
}

}  // namespace berth
