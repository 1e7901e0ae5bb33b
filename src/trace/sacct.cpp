// What `sacct -P` prints of Slurm's accounting: fields between bars, named by the first line.
//
// A job needs JobID, Submit and a run time, as ElapsedRaw, Elapsed or Start and End; GPUs come from
// AllocTRES or ReqTRES. Jobs that never ran, and jobs that have not ended are left out: what a
// running job took so far is not its run time. Steps of jobs (`17.batch`) are no rows of jobs.
#include <algorithm>
#include <array>
#include <charconv>

#include "core/text/amounts.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value >= 0 && value <= 1'000'000'000'000 ? std::optional(value) : std::nullopt;
}

/// `[DAYS-]HH:MM:SS`, `MM:SS`, with decimals of a second cut.
std::optional<Duration> clock_time(std::string_view text) {
  text = text.substr(0, text.find('.'));
  std::int64_t total = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto days = whole_number(text.substr(0, dash));
    if (!days || *days > 36'500) return std::nullopt;
    total = *days * 24;
    text.remove_prefix(dash + 1);
  }
  for (std::size_t parts = 0; parts < 3; ++parts) {
    const std::size_t colon = text.find(':');
    const auto part = whole_number(text.substr(0, colon));
    if (!part || *part > 1'000'000) return std::nullopt;
    total = parts == 0 ? total + *part : total * 60 + *part;
    if (colon == std::string_view::npos)
      return parts == 0 ? std::nullopt : std::optional(seconds(total));
    text.remove_prefix(colon + 1);
  }
  return std::nullopt;
}

/// The value of `key` in `cpu=8,gres/gpu:a100=2,mem=64G`.
std::optional<std::string_view> value_in(std::string_view list, std::string_view key) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view item = list.substr(0, end);
    if (item.starts_with(key) && item.substr(key.size()).starts_with('=')) {
      return item.substr(key.size() + 1);
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return std::nullopt;
}

/// The name in `gres/gpu:a100=2`; "" where there is none.
std::string_view gpu_type_in(std::string_view list) {
  constexpr std::string_view key = "gres/gpu:";
  const std::size_t at = list.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = list.substr(at + key.size());
  return rest.substr(0, rest.find('='));
}

/// `64G`, `187.50G`, `4096K`: host memory.
std::optional<Bytes> memory(std::string_view text) {
  constexpr std::string_view units = "KMGT";
  if (text.empty() || units.find(text.back()) == units.npos) return std::nullopt;
  const bool is_none = text.substr(0, text.size() - 1).find_first_not_of("0.") == text.npos;
  if (is_none) return text.size() > 1 ? std::optional(Bytes(0)) : std::nullopt;
  const auto size = parse_size(text);
  return size ? std::optional(*size) : std::nullopt;
}

struct SacctColumns {
  explicit SacctColumns(Columns& columns)
      : id(columns.need("JobID", "JobIDRaw")),
        submit(columns.need("Submit")),
        allocated(columns.find("AllocTRES")),
        requested(columns.find("ReqTRES")),
        elapsed_raw(columns.find("ElapsedRaw")),
        elapsed(columns.find("Elapsed")),
        state(columns.find("State")),
        start(columns.find("Start")),
        end(columns.find("End")),
        limit(columns.find("Timelimit")),
        user(columns.find("User")),
        name(columns.find("JobName")) {
    if (!allocated) (void)columns.need("ReqTRES");
    if (!elapsed_raw && !elapsed && !(start && end)) (void)columns.need("Elapsed");
  }

  std::size_t id, submit;
  std::optional<std::size_t> allocated, requested, elapsed_raw, elapsed, state, start, end;
  std::optional<std::size_t> limit, user, name;
};

/// Slurm's words for jobs that have ended, and for those that have not; `CANCELLED by 1000` too.
constexpr auto kEnded = std::to_array<std::string_view>(
    {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED",
     "BOOT_FAIL", "DEADLINE", "REVOKED", "LAUNCH_FAILED"});
constexpr auto kGoesOn = std::to_array<std::string_view>(
    {"RUNNING", "PENDING", "SUSPENDED", "REQUEUED", "RESIZING", "CONFIGURING", "COMPLETING",
     "STOPPED", "SIGNALING", "STAGE_OUT", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT"});

/// By its state, or where that is not said by its end.
bool has_ended(Row& row, const SacctColumns& columns) {
  if (!columns.state) return row.text(columns.end) != "Unknown";
  const std::string_view text = row.text(*columns.state);
  const std::string_view word = text.substr(0, text.find(' '));
  const bool ended = std::ranges::find(kEnded, word) != kEnded.end();
  if (!ended && std::ranges::find(kGoesOn, word) == kGoesOn.end()) {
    row.refuse(*columns.state, "a state of Slurm's such as COMPLETED or RUNNING");
  }
  return ended;
}

/// One that ended by itself within its first second, which Slurm rounds down.
bool was_brief(const Row& row, const SacctColumns& columns) {
  if (!columns.state) return false;
  constexpr auto kByItself =
      std::to_array<std::string_view>({"COMPLETED", "FAILED", "OUT_OF_MEMORY"});
  return std::ranges::find(kByItself, row.text(*columns.state)) != kByItself.end();
}

/// Nothing, and Slurm's words for none, are no limit.
Duration time_limit(Row& row, const SacctColumns& columns) {
  const std::string_view text = row.text(columns.limit);
  if (text.empty() || text == "UNLIMITED" || text == "Partition_Limit") return kForever;
  const auto limit = clock_time(text);
  if (!limit) {
    row.refuse(*columns.limit, "a time such as 1-02:03:04, UNLIMITED or Partition_Limit");
  }
  return limit.value_or(kForever);
}

/// Nothing for a job that has not run.
std::optional<Duration> run_time(Row& row, const SacctColumns& columns) {
  if (columns.elapsed_raw) return row.duration(*columns.elapsed_raw);
  if (columns.elapsed) {
    const auto time = clock_time(row.text(*columns.elapsed));
    if (!time) row.refuse(*columns.elapsed, "a time such as 1-02:03:04");
    return time;
  }
  const auto start = calendar_instant(row.text(*columns.start));
  const auto end = calendar_instant(row.text(*columns.end));
  if (!start || !end) return std::nullopt;
  if (*end < *start) row.refuse(*columns.end, "a time not before the start");
  return *end - *start;
}

/// The list a job's resources are read from: what it got, where it got anything.
std::size_t resources(const Row& row, const SacctColumns& columns) {
  const bool got = columns.allocated && !row.text(*columns.allocated).empty();
  return got || !columns.requested ? *columns.allocated : *columns.requested;
}

/// `cpu=8,mem=64G`: every word a name and what there is of it.
bool is_list(std::string_view list) {
  const auto words = names_between(list, ',');
  return std::ranges::all_of(words, [](const std::string& word) {
    const std::size_t equals = word.find('=');
    return equals != 0 && equals != std::string::npos;
  });
}

void read_resources(Row& row, std::size_t column, TraceJob& job) {
  const std::string_view list = row.text(column);
  if (!is_list(list)) row.refuse(column, "a list such as cpu=8,gres/gpu=2,mem=64G");
  const auto cores = value_in(list, "cpu");
  const auto host = value_in(list, "mem");
  const auto cpu = cores ? whole_number(*cores) : std::nullopt;
  const auto bytes = host ? memory(*host) : std::nullopt;
  if (cores && (!cpu || *cpu > 100'000)) row.refuse(column, "cpu=N with N up to 100000");
  if (host && !bytes) row.refuse(column, "mem=SIZE such as 64G, up to 1024T");
  job.spec.request.cpu = CpuMilli(cpu.value_or(0) <= 100'000 ? cpu.value_or(0) * 1000 : 0);
  job.spec.request.host = bytes.value_or(Bytes(0));
  if (const std::string_view type = gpu_type_in(list); !type.empty())
    job.types = {std::string(type)};
}

GpuCount gpus_in(Row& row, std::size_t column) {
  const std::string_view list = row.text(column);
  auto text = value_in(list, "gres/gpu");
  if (!text) {
    const std::string typed = "gres/gpu:" + std::string(gpu_type_in(list));
    text = value_in(list, typed);
  }
  if (!text) return GpuCount(0);
  const auto count = whole_number(*text);
  if (!count || *count > kMostGpus) row.refuse(column, "gres/gpu=N with N up to 1000000");
  return GpuCount(count.value_or(0));
}

}  // namespace

Expected<Trace> read_sacct(const Source& source) {
  auto csv = Csv::open(source.text, source.file, {.separator = '|'});
  if (!csv) return std::unexpected(csv.error());
  Columns find(*csv);
  const SacctColumns columns(find);
  if (find.error()) return std::unexpected(*find.error());
  std::size_t unfinished = 0;
  std::size_t steps = 0;
  auto trace = read_jobs(*csv, source.bad_rows, [&](Row& row) -> std::optional<TraceJob> {
    const std::string id = row.name(columns.id);
    if (id.find('.') != std::string::npos) return ++steps, std::nullopt;
    if (!has_ended(row, columns)) {
      unfinished += row.error() ? 0 : 1;
      return std::nullopt;
    }
    auto ran = run_time(row, columns);
    if (ran == Duration(0) && was_brief(row, columns)) ran = seconds(1);
    if (!ran || *ran == Duration(0)) return std::nullopt;
    const std::size_t list = resources(row, columns);
    TraceJob job = whole_gpu_job(id, gpus_in(row, list));
    read_resources(row, list, job);
    const auto submit = calendar_instant(row.text(columns.submit));
    if (!submit) row.refuse(columns.submit, "a time such as 2024-03-01T12:00:00");
    job.submit = submit.value_or(kStart);
    job.duration = *ran;
    job.user = row.text(columns.user);
    job.model = row.text(columns.name);
    job.spec.time_limit = time_limit(row, columns);
    return job;
  });
  if (!trace) return trace;
  trace->unfinished = unfinished;
  trace->left_out -= steps;
  start_at_origin(*trace);
  return trace;
}

}  // namespace berth::trace
