// berth's own form of a trace: everything a job is, one row each. The history of a daemon is
// written in it; it is meant for hands and scripts too, so most columns may be missing.
#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "core/base/limits.hpp"
#include "core/knowledge/scaling.hpp"
#include "core/text/amounts.hpp"
#include "core/text/text.hpp"
#include "core/text/words.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

struct NativeColumns {
  explicit NativeColumns(Columns& columns)
      : job(columns.need("job")),
        submit(columns.need("submit_seconds")),
        gpus(columns.need("gpus")),
        duration(columns.find("duration_seconds")),
        start(columns.find("start_seconds")),
        end(columns.find("end_seconds")),
        vram(columns.find("vram_bytes")),
        vram_gib(columns.find("vram_gib")),
        vram_mib(columns.find("vram_mib")),
        milli(columns.find("gpu_milli")),
        alone(columns.find("alone")),
        cpu(columns.find("cpu_milli")),
        memory(columns.find("memory_bytes")),
        memory_gib(columns.find("memory_gib")),
        memory_mib(columns.find("memory_mib")),
        priority(columns.find("priority")),
        limit(columns.find("limit_seconds")),
        deadline(columns.find("deadline_seconds")),
        user(columns.find("user")),
        model(columns.find("model")),
        types(columns.find("types")),
        after(columns.find("after")),
        batch(columns.find("batch")),
        min_gpus(columns.find("min_gpus")),
        max_gpus(columns.find("max_gpus")),
        group(columns.find("group")),
        duration_class(columns.find("class")),
        duty(columns.find("duty_milli")),
        use(columns.find("memory")),
        retries(columns.find("retries")),
        saves(columns.find("saves")) {
    if (!duration && !(start && end)) (void)columns.need("duration_seconds");
  }

  std::size_t job, submit, gpus;
  std::optional<std::size_t> duration, start, end;
  std::optional<std::size_t> vram, vram_gib, vram_mib, milli, alone, cpu;
  std::optional<std::size_t> memory, memory_gib, memory_mib;
  std::optional<std::size_t> priority, limit, deadline;
  std::optional<std::size_t> user, model, types, after;
  std::optional<std::size_t> batch, min_gpus, max_gpus, group;
  std::optional<std::size_t> duration_class, duty, use, retries, saves;
};

/// A number that may be missing, with its column or without.
std::int64_t optional_integer(Row& row, std::optional<std::size_t> column, std::int64_t high) {
  return !row.is_missing(column) ? row.integer(*column, 0, high) : 0;
}
/// A column of sizes, and what a number without a unit is of.
struct SizeColumn {
  std::optional<std::size_t> column;
  std::int64_t unit;
};
constexpr std::int64_t kMib = std::int64_t{1} << 20;
constexpr std::int64_t kGib = std::int64_t{1} << 30;

Bytes size_of(Row& row, const SizeColumn& from) {
  constexpr std::string_view kUnits = "kKmMgGtTbB";
  const std::size_t column = *from.column;
  if (row.text(column).ends_with('%')) {
    row.refuse(column, "a size such as 20G: of which GPU this is a part is not known here");
    return Bytes(0);
  }
  if (kUnits.find(row.text(column).back()) != kUnits.npos) {
    const auto size = parse_size(row.text(column));
    if (!size) row.refuse(column, "bytes, or a size such as 20G");
    return size.value_or(Bytes(0));
  }
  const std::int64_t most = limits::kMostMemory.raw() / from.unit;
  if (from.unit == 1) return Bytes(row.integer(column, 0, most));
  if (from.unit == kGib) return gibibytes(row.millionths(column, most));
  return Bytes(row.millionths(column, most) / 1'000'000 * from.unit);
}

/// The first that the row has; with a unit it is what it says.
Bytes optional_memory(Row& row, std::span<const SizeColumn> columns) {
  for (const SizeColumn& each : columns) {
    if (!row.is_missing(each.column)) return size_of(row, each);
  }
  return Bytes(0);
}

/// `0 days 01:00:00`, as pandas writes it, as `0-01:00:00`; others as they are.
std::string with_dash(std::string_view text) {
  for (const std::string_view days : {" days ", " day "}) {
    const std::size_t at = text.find(days);
    if (at == text.npos) continue;
    std::string plain(text.substr(0, at));
    return plain.append("-").append(text.substr(at + days.size()));
  }
  return std::string(text);
}

/// Seconds, or a text with hours, minutes and seconds, or with a unit. `1:30` may be either and is
/// refused.
Duration run_time(Row& row, std::size_t column) {
  const std::string_view text = row.text(column);
  const auto colons = std::ranges::count(text, ':');
  const bool has_unit = !text.empty() && is_letter(text.back());
  if (colons == 0 && !has_unit) return row.duration(column);
  std::string plain = with_dash(text);
  if (colons == 2) plain = plain.substr(0, plain.find('.'));
  const bool is_zero = plain.find_first_not_of("0:-") == plain.npos;
  if (is_zero && colons == 2) return Duration(0);
  const auto time = colons == 1 ? std::unexpected(Error{}) : parse_duration(plain);
  if (!time) row.refuse(column, "seconds, or a time such as 1:30:00");
  return time.value_or(Duration(0));
}
Duration optional_time(Row& row, std::optional<std::size_t> column, Duration otherwise) {
  return !row.is_missing(column) ? run_time(row, *column) : otherwise;
}

std::vector<std::string> optional_names(Row& row, std::optional<std::size_t> column) {
  return names_between(row.is_missing(column) ? "" : row.text(column), '|');
}

void read_request(Row& row, const NativeColumns& columns, Request& request) {
  GpuRequest& gpu = request.gpu;
  gpu.count = row.gpus(columns.gpus, 0);
  gpu.vram = optional_memory(
      row, std::array<SizeColumn, 3>{
               {{columns.vram, 1}, {columns.vram_gib, kGib}, {columns.vram_mib, kMib}}});
  gpu.milli = GpuMilli(optional_integer(row, columns.milli, 1000));
  const bool says_alone = optional_integer(row, columns.alone, 1) == 1;
  const bool alone = says_alone || (gpu.vram == Bytes(0) && gpu.milli == GpuMilli(0));
  gpu.sharing = alone && gpu.count > GpuCount(0) ? Sharing::Alone : Sharing::Shared;
  if (!alone && gpu.vram == Bytes(0)) gpu.vram = kUnstated;
  request.cpu = CpuMilli(optional_integer(row, columns.cpu, kMostCores));
  request.host = optional_memory(
      row, std::array<SizeColumn, 3>{
               {{columns.memory, 1}, {columns.memory_gib, kGib}, {columns.memory_mib, kMib}}});
}

/// What is not said is what the job asks for.
void read_range(Row& row, const NativeColumns& columns, GpuRequest& gpu) {
  gpu.min = GpuCount(optional_integer(row, columns.min_gpus, gpu.count.raw()));
  gpu.max = GpuCount(optional_integer(row, columns.max_gpus, kMostGpus));
  if (gpu.min == GpuCount(0) && gpu.max == GpuCount(0)) return;
  if (gpu.min == GpuCount(0)) gpu.min = gpu.count;
  if (gpu.max == GpuCount(0)) gpu.max = gpu.count;
  if (gpu.count == GpuCount(0) || gpu.max < gpu.count) {
    row.refuse(*(columns.max_gpus ? columns.max_gpus : columns.min_gpus),
               "a range of GPUs around those that the job asks for");
  }
}

void read_class(Row& row, std::optional<std::size_t> column, JobSpec& spec) {
  if (row.is_missing(column)) return;
  const auto known = from_word<DurationClass>(row.text(column));
  if (!known) return row.refuse(*column, "one of " + all_words<DurationClass>());
  spec.duration_class = *known;
}

void read_use(Row& row, std::optional<std::size_t> column, TraceJob& job) {
  if (row.is_missing(column)) return;
  auto curve = parse_use_curve(row.text(column));
  if (!curve) {
    return row.refuse(*column, "at most " + std::to_string(UseCurve::kMostPoints) +
                                   " points SECONDS:MIB, ascending in time");
  }
  job.use = std::move(*curve);
}

/// How a table says when something was: in seconds of its own clock, or by the calendar. Its first
/// row shows which, and then all of it is so.
class TableClock {
 public:
  /// Requires: the first call is for a row with a time.
  Instant read(Row& row, std::size_t column) {
    if (!by_calendar_) by_calendar_ = row.is_calendar(column);
    if (*by_calendar_) return row.calendar(column, "2024-03-01 12:00:00");
    if (row.text(column).find_first_of("/:") != std::string_view::npos) {
      row.refuse(column,
                 "seconds, or a time such as 2024-03-01 12:00:00; --time-format reads others");
    }
    return kStart + row.duration(column);
  }
  bool is_calendar() const { return by_calendar_.value_or(false); }

 private:
  std::optional<bool> by_calendar_;
};

/// Nothing for a job that did not run to an end, which is then left out.
std::optional<Duration> native_run_time(Row& row, const NativeColumns& columns, TableClock& clock) {
  if (columns.duration) return run_time(row, *columns.duration);
  if (row.is_missing(columns.start)) return row.leave_out(kNeverRan);
  if (row.is_missing(columns.end)) return row.leave_out(kNotEnded);
  const Instant start = clock.read(row, *columns.start);
  const Instant end = clock.read(row, *columns.end);
  return row.between(start, end, *columns.end);
}

void read_deadline(Row& row, std::optional<std::size_t> column, TraceJob& job, TableClock& clock) {
  if (row.is_missing(column)) return;
  job.spec.deadline = clock.read(row, *column);
  // By the calendar the first submission is the origin, and no time may be before that.
  if (clock.is_calendar()) (void)row.between(job.submit, job.spec.deadline, *column);
}

void read_saves(Row& row, std::optional<std::size_t> column, JobSpec& spec) {
  constexpr std::int32_t kTerminate = 15;  // whichever it is: nobody is there to hear it
  if (optional_integer(row, column, 1) == 1) spec.conditions.edit().on_preempt.signal = kTerminate;
}

std::optional<TraceJob> job_of(Row& row, const NativeColumns& columns, TableClock& clock) {
  TraceJob job = whole_gpu_job(row.name(columns.job), GpuCount(0));
  read_request(row, columns, job.spec.request);
  job.submit = clock.read(row, columns.submit);
  const auto ran = native_run_time(row, columns, clock);
  if (!ran) return std::nullopt;
  job.duration = *ran;
  job.spec.priority =
      static_cast<std::int32_t>(optional_integer(row, columns.priority, limits::kMostPriority));
  job.spec.time_limit = optional_time(row, columns.limit, kForever);
  read_deadline(row, columns.deadline, job, clock);
  job.user = row.text(columns.user);
  job.model = row.text(columns.model);
  job.types = optional_names(row, columns.types);
  job.after = optional_names(row, columns.after);
  job.batch = optional_integer(row, columns.batch, Scaling::kMostBatch);
  job.spec.group = std::string(row.text(columns.group));
  read_range(row, columns, job.spec.request.gpu);
  read_class(row, columns.duration_class, job.spec);
  job.spec.retries =
      static_cast<std::int32_t>(optional_integer(row, columns.retries, limits::kMostRetries));
  read_saves(row, columns.saves, job.spec);
  if (!row.is_missing(columns.duty)) job.duty = GpuMilli(row.integer(*columns.duty, 0, 1000));
  read_use(row, columns.use, job);
  return job;
}

std::string number_or_none(std::int64_t value) { return value == 0 ? "" : std::to_string(value); }

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : "|") + plain(name);
  return text;
}

/// Columns that are written only where a job has something for them: else the file as ever.
struct Rare {
  std::string_view name;
  std::string (*text)(const TraceJob&);
};
constexpr auto kRare = std::to_array<Rare>({
    {"after", [](const TraceJob& job) { return joined(job.after); }},
    {"batch", [](const TraceJob& job) { return number_or_none(job.batch); }},
    {"min_gpus",
     [](const TraceJob& job) { return number_or_none(job.spec.request.gpu.min.raw()); }},
    {"max_gpus",
     [](const TraceJob& job) { return number_or_none(job.spec.request.gpu.max.raw()); }},
    {"group", [](const TraceJob& job) { return plain(job.spec.group.text()); }},
    {"class",
     [](const TraceJob& job) {
       const DurationClass stated = job.spec.duration_class;
       return stated == JobSpec{}.duration_class ? "" : std::string(word_for(stated));
     }},
    {"duty_milli",
     [](const TraceJob& job) {
       return job.duty == kUnstatedDuty ? "" : std::to_string(job.duty.raw());
     }},
    {"memory", [](const TraceJob& job) { return to_text(job.use); }},
    {"retries", [](const TraceJob& job) { return number_or_none(job.spec.retries); }},
    {"saves",
     [](const TraceJob& job) {
       const Conditions* const asked = job.spec.conditions.if_set();
       return asked != nullptr && asked->on_preempt.signal != 0 ? std::string("1") : "";
     }},
});

std::string row_of(const TraceJob& job) {
  const JobSpec& spec = job.spec;
  const GpuRequest& gpu = spec.request.gpu;
  return plain(job.name) + "," + plain(job.user) + "," + plain(job.model) + "," +
         seconds_text(job.submit) + "," + seconds_text(job.duration) + "," +
         std::to_string(gpu.count.raw()) + "," + number_or_none(gpu.vram.raw()) + "," +
         number_or_none(gpu.milli.raw()) + "," + (gpu.sharing == Sharing::Alone ? "1" : "") + "," +
         number_or_none(spec.request.cpu.raw()) + "," + number_or_none(spec.request.host.raw()) +
         "," + joined(job.types) + "," + number_or_none(spec.priority) + "," +
         (spec.time_limit == kForever ? "" : seconds_text(spec.time_limit)) + "," +
         (spec.deadline == kNever ? "" : seconds_text(spec.deadline));
}

/// Of times by the calendar: no number of seconds in a trace is that large.
bool is_too_late(const TraceJob& job) {
  const bool by = job.spec.deadline != kNever && job.spec.deadline > kStart + kCentury;
  return by || job.submit > kStart + kCentury;
}

/// No GPU's worth of memory is below a MiB.
void warn_of_unit(Trace& trace) {
  Bytes most(0);
  for (const TraceJob& job : trace.jobs) {
    const GpuRequest& gpu = job.spec.request.gpu;
    if (gpu.vram != kUnstated) most = std::max(most, gpu.vram);
  }
  if (most == Bytes(0) || most >= Bytes(1 << 20)) return;
  trace.warnings.push_back("column 'vram_bytes': the largest is " + std::to_string(most.raw()) +
                           ", and it is bytes that are read, not MiB (vram_mib) or GiB (vram_gib)");
}

}  // namespace

Expected<Trace> read_native(const Source& source) {
  auto csv = open_table(source);
  if (!csv) return std::unexpected(csv.error());
  Columns find(*csv);
  const NativeColumns columns(find);
  if (auto error = find.error()) return std::unexpected(*std::move(error));
  TableClock clock;
  auto trace =
      read_jobs(*csv, source.bad_rows, [&](Row& row) { return job_of(row, columns, clock); });
  if (!trace) return trace;
  if (clock.is_calendar()) start_at_origin(*trace);
  if (std::ranges::any_of(trace->jobs, is_too_late)) {
    return fail(ErrorCode::BadData,
                std::string(source.file) + ": its times are more than a century apart");
  }
  if (const std::string rest = find.not_read(); !rest.empty()) {
    trace->warnings.push_back("columns that are not read: " + rest);
  }
  if (columns.vram) warn_of_unit(*trace);
  return trace;
}

std::string write_native(const Trace& trace) {
  std::string text =
      "job,user,model,submit_seconds,duration_seconds,gpus,vram_bytes,gpu_milli,alone,cpu_milli,"
      "memory_bytes,types,priority,limit_seconds,deadline_seconds";
  std::vector<Rare> rare;
  std::ranges::copy_if(kRare, std::back_inserter(rare), [&](const Rare& column) {
    return std::ranges::any_of(trace.jobs,
                               [&](const TraceJob& job) { return !column.text(job).empty(); });
  });
  for (const Rare& column : rare) text += "," + std::string(column.name);
  text += "\n";
  for (const TraceJob& job : trace.jobs) {
    text += row_of(job);
    for (const Rare& column : rare) text += "," + column.text(job);
    text += "\n";
  }
  return text;
}

}  // namespace berth::trace
