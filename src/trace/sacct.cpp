// What `sacct -P` prints of Slurm's accounting: fields between bars, named by the first line.
//
// A job needs JobID, Submit and a run time, as ElapsedRaw, Elapsed or Start and End; GPUs come from
// AllocTRES or ReqTRES. Jobs that never ran, and jobs that have not ended are left out: what a
// running job took so far is not its run time. Steps of jobs (`17.batch`) are no rows of jobs.
#include <algorithm>
#include <charconv>

#include "core/text/amounts.hpp"
#include "trace/rows.hpp"
#include "trace/slurm_states.hpp"

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

/// By its state, or where that is not said by its end.
Outcome outcome_of(Row& row, const SacctColumns& columns) {
  if (!columns.state) {
    return row.text(columns.end) == "Unknown" ? Outcome::NotEnded : Outcome::Ended;
  }
  const auto outcome = slurm_outcome(row.text(*columns.state));
  if (!outcome) row.refuse(*columns.state, kSlurmState);
  return outcome.value_or(Outcome::NotEnded);
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

constexpr std::string_view kSlurmTime = "2024-03-01T12:00:00";

/// Nothing where Slurm has no time.
std::optional<Instant> slurm_time(Row& row, std::size_t column) {
  const std::string_view text = row.text(column);
  if (text.empty() || text == "Unknown" || text == "None") return std::nullopt;
  return row.calendar(column, kSlurmTime);
}

/// Nothing for a job that has not run.
std::optional<Duration> run_time(Row& row, const SacctColumns& columns) {
  if (columns.elapsed_raw) return row.duration(*columns.elapsed_raw);
  if (columns.elapsed) {
    const auto time = clock_time(row.text(*columns.elapsed));
    if (!time) row.refuse(*columns.elapsed, "a time such as 1-02:03:04");
    return time;
  }
  const auto start = slurm_time(row, *columns.start);
  const auto end = slurm_time(row, *columns.end);
  if (!start || !end) return std::nullopt;
  return row.between(*start, *end, *columns.end);
}

/// The list a job's resources are read from: what it got, where it got anything.
std::size_t resources(const Row& row, const SacctColumns& columns) {
  const bool got = columns.allocated && !row.text(*columns.allocated).empty();
  return got || !columns.requested ? *columns.allocated : *columns.requested;
}

/// `cpu=8,mem=64G`: every word a name and what there is of it.
bool is_list(std::string_view list) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::size_t equals = list.substr(0, end).find('=');
    if (end > 0 && (equals == 0 || equals == std::string_view::npos)) return false;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return true;
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
}

/// The number of a kind of GPU, or of shares of them, in a list.
std::int64_t count_in(Row& row, std::size_t column, std::string_view key) {
  const auto text = value_in(row.text(column), key);
  if (!text) return 0;
  const auto count = whole_number(*text);
  if (!count || *count > kMostGpus) {
    row.refuse(column, std::string(key) + "=N with N up to 1000000");
  }
  return count.value_or(0);
}

/// A slice of MIG, whose type ends as `a100_1g.10gb`.
struct MigSlice {
  std::string_view card;  ///< `a100`; "" where it is not said.
  std::int64_t sevenths = 0;
  Bytes memory{0};
};

std::optional<MigSlice> mig_slice(std::string_view type) {
  const std::size_t point = type.find("g.");
  if (point == std::string_view::npos || point == 0 || !type.ends_with("gb")) return std::nullopt;
  const std::size_t digit = type.find_last_not_of("0123456789", point - 1) + 1;
  const auto sevenths = whole_number(type.substr(digit, point - digit));
  const auto gib = whole_number(type.substr(point + 2, type.size() - point - 4));
  if (!sevenths || *sevenths < 1 || *sevenths > 7 || !gib || *gib < 1 || *gib > 4096) {
    return std::nullopt;
  }
  std::string_view card = type.substr(0, digit);
  while (card.ends_with('_') || card.ends_with('-') || card.ends_with('.')) card.remove_suffix(1);
  return MigSlice{card, *sevenths, Bytes(*gib << 30)};
}

/// What a list asks for of GPUs, some of which a trace can hold in another way only.
struct GpuNotes {
  std::size_t shards = 0;  ///< Jobs with a number of shards, of nobody says how many to a GPU.
  std::size_t parts = 0;   ///< Rows that are parts of heterogeneous jobs.
};

void read_gpus(Row& row, std::size_t column, TraceJob& job, GpuNotes& notes) {
  const std::string_view list = row.text(column);
  const std::string_view type = gpu_type_in(list);
  std::int64_t count = count_in(row, column, "gres/gpu");
  if (count == 0 && !type.empty()) count = count_in(row, column, "gres/gpu:" + std::string(type));
  GpuRequest& gpu = job.spec.request.gpu;
  gpu.count = GpuCount(count);
  gpu.sharing = count > 0 ? Sharing::Alone : Sharing::Shared;
  if (!type.empty()) job.types = {std::string(type)};
  if (const auto slice = mig_slice(type); slice && count > 0) {
    gpu.sharing = Sharing::Shared;
    gpu.milli = GpuMilli(slice->sevenths * 1000 / 7);
    gpu.vram = slice->memory;
    job.types.clear();
    if (!slice->card.empty()) job.types.emplace_back(slice->card);
  }
  if (count > 0) return;
  if (const std::int64_t mps = count_in(row, column, "gres/mps"); mps > 0) {
    gpu.count = GpuCount(1);  // hundredths of one GPU
    gpu.milli = GpuMilli(std::min<std::int64_t>(mps * 10, 1000));
    gpu.vram = kUnstated;
  } else if (count_in(row, column, "gres/shard") > 0) {
    ++notes.shards;
  }
}

/// The table that sacct prints without -P has a line of dashes, whose runs are its columns.
/// Returns: the same with bars between, or nothing for a text without that line.
std::optional<std::string> with_bars(std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view rest = text.substr(std::min(end + 1, text.size()));
  std::string_view dashes = rest.substr(0, rest.find('\n'));
  if (dashes.ends_with('\r')) dashes.remove_suffix(1);
  if (!dashes.starts_with('-') || dashes.find_first_not_of("- ") != dashes.npos)
    return std::nullopt;
  std::string table;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t stop = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, stop - from);
    from = stop + 1;
    for (std::size_t at = 0; line != dashes && at < dashes.size();) {
      const std::size_t width = std::min(dashes.find(' ', at), dashes.size()) - at;
      std::string field(line.substr(std::min(at, line.size()), width));
      std::ranges::replace(field, '|', '_');
      table += (at == 0 ? "" : "|") + field;
      at += width + 1;
    }
    table += '\n';
  }
  return table;
}

std::optional<TraceJob> sacct_job(Row& row, const SacctColumns& columns, GpuNotes& notes) {
  const std::string id = row.name(columns.id);
  if (id.find('.') != std::string::npos) return row.leave_out("");  // a step
  const Outcome outcome = outcome_of(row, columns);
  if (outcome == Outcome::NotEnded) return row.leave_out(kNotEnded);
  auto ran = run_time(row, columns);
  // One that ended by itself within its first second, which Slurm rounds down.
  if (ran == Duration(0) && outcome == Outcome::Itself) ran = seconds(1);
  if (!ran || *ran == Duration(0)) return row.leave_out(kNeverRan);
  TraceJob job = whole_gpu_job(id, GpuCount(0));
  const std::size_t list = resources(row, columns);
  if (row.text(list).ends_with('+')) row.refuse(list, "all of it, as sacct prints it with -P");
  read_gpus(row, list, job, notes);
  read_resources(row, list, job);
  job.submit = row.calendar(columns.submit, kSlurmTime);
  job.duration = *ran;
  job.user = row.text(columns.user);
  job.model = row.text(columns.name);
  job.spec.time_limit = time_limit(row, columns);
  notes.parts += id.find('+') == std::string::npos ? 0 : 1;
  return job;
}

void warn_of(const GpuNotes& notes, Trace& trace) {
  if (notes.shards > 0) {
    trace.warnings.push_back(std::to_string(notes.shards) +
                             " jobs have gres/shard and are read as jobs without a GPU: sacct does "
                             "not say how many shards a GPU has");
  }
  if (notes.parts > 0) {
    trace.warnings.push_back(std::to_string(notes.parts) +
                             " parts of heterogeneous jobs are read as jobs of their own");
  }
}

}  // namespace

Expected<Trace> read_sacct(const Source& given) {
  const auto table = with_bars(given.text);
  Source source = given;
  if (table) source.text = *table;
  auto csv = open_table(source, {.separator = '|', .free_text = "JobName"});
  if (!csv) return std::unexpected(csv.error());
  Columns find(*csv);
  const SacctColumns columns(find);
  if (auto error = find.error()) return std::unexpected(*std::move(error));
  GpuNotes notes;
  auto trace =
      read_jobs(*csv, source.bad_rows, [&](Row& row) { return sacct_job(row, columns, notes); });
  if (!trace) return trace;
  warn_of(notes, *trace);
  start_at_origin(*trace);
  return trace;
}

}  // namespace berth::trace
