// The logs of SenseTime's Helios (Hu et al., SC 2021) and of the Shanghai AI Laboratory's Acme (Hu
// et al., NSDI 2024): a row for each job, by Slurm's words, with calendar times.
//
// A job runs from its start to its end; the column `duration` counts where one of them is not said,
// since Acme's Kalos counts the wait in it. Jobs without a GPU are left out: in both clusters they
// have nodes of their own, and they would make half of all waits zero.
#include <algorithm>

#include "core/base/limits.hpp"
#include "trace/rows.hpp"
#include "trace/slurm_states.hpp"

namespace berth::trace {

namespace {

constexpr std::int64_t kMostPodGiB = 1 << 14;
constexpr std::int64_t kMostPods = 1 << 12;

struct HeliosColumns {
  explicit HeliosColumns(Columns& columns)
      : id(columns.need("job_id")),
        gpus(columns.need("gpu_num")),
        state(columns.need("state")),
        submit(columns.need("submit_time")),
        start(columns.need("start_time")),
        end(columns.need("end_time")),
        duration(columns.find("duration")),
        user(columns.find("user")),
        group(columns.find("vc")),
        kind(columns.find("type")),
        cores(columns.find("cpu_num")),
        nodes(columns.find("node_num")),
        pod_memory(columns.find("mem_per_pod_GB")) {}

  std::size_t id, gpus, state, submit, start, end;
  std::optional<std::size_t> duration, user, group, kind, cores, nodes, pod_memory;
};

/// Nothing where no time is said.
std::optional<Instant> log_time(Row& row, std::size_t column) {
  const std::string_view text = row.text(column);
  if (row.is_missing(column) || text == "None" || text == "Unknown") return std::nullopt;
  return row.calendar(column, "2020-04-01 00:02:11 or 2023-03-01 00:18:22+08:00");
}

/// Nothing for a job that never ran.
std::optional<Duration> logged_run_time(Row& row, const HeliosColumns& columns) {
  const auto start = log_time(row, columns.start);
  const auto end = log_time(row, columns.end);
  if (start && end) return row.between(*start, *end, columns.end);
  if (!start || row.is_missing(columns.duration)) return std::nullopt;
  return row.duration(*columns.duration);
}

void read_host_resources(Row& row, const HeliosColumns& columns, Request& request) {
  if (!row.is_missing(columns.cores)) {
    request.cpu = CpuMilli(row.integer(*columns.cores, 0, kMostCores / 1000) * 1000);
  }
  if (row.is_missing(columns.pod_memory)) return;
  const std::int64_t pods =
      row.is_missing(columns.nodes) ? 1 : row.integer(*columns.nodes, 0, kMostPods);
  const std::int64_t pod = row.millionths(*columns.pod_memory, kMostPodGiB);
  request.host = std::min(gibibytes(pod) * pods, limits::kMostMemory);
}

std::optional<TraceJob> logged_job(Row& row, const HeliosColumns& columns) {
  const auto outcome = slurm_outcome(row.text(columns.state));
  if (!outcome) row.refuse(columns.state, kSlurmState);
  const GpuCount gpus = row.gpus(columns.gpus, 0);
  if (row.error()) return std::nullopt;
  if (gpus == GpuCount(0)) return row.leave_out(kWithoutGpu);
  if (outcome == Outcome::NotEnded) return row.leave_out(kNotEnded);
  auto ran = logged_run_time(row, columns);
  if (ran == Duration(0) && outcome == Outcome::Itself) ran = seconds(1);
  if (!ran || *ran == Duration(0)) return row.leave_out(kNeverRan);
  TraceJob job = whole_gpu_job(row.name(columns.id), gpus);
  const auto submit = log_time(row, columns.submit);
  if (!submit) row.refuse(columns.submit, "the time of the submission");
  job.submit = submit.value_or(kStart);
  job.duration = *ran;
  job.user = row.text(columns.user);
  job.model = row.text(columns.kind);
  job.spec.group = std::string(row.text(columns.group));
  read_host_resources(row, columns, job.spec.request);
  return job;
}

/// Of the paper: every node of these clusters has so many.
constexpr std::int64_t kGpusOfNode = 8;

}  // namespace

bool is_helios_gpus(std::string_view text) { return text.starts_with("date,vc"); }

Expected<Cluster> read_helios_gpus(std::string_view text, std::string_view file) {
  auto csv = Csv::open(text, file);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t total = columns.need("total");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  std::int64_t most = 0;
  for (;;) {
    const auto more = csv->next();
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    const auto gpus = csv->integer(total, 0, kMostGpus);
    if (!gpus) return std::unexpected(gpus.error());
    most = std::max(most, *gpus);
  }
  if (most < kGpusOfNode) {
    return fail(ErrorCode::BadData, std::string(file) + ": no day has the GPUs of a node, " +
                                        std::to_string(kGpusOfNode));
  }
  return parse_cluster(std::to_string(most / kGpusOfNode) + "x" + std::to_string(kGpusOfNode));
}

Expected<Trace> read_helios(const Source& source) {
  auto csv = open_table(source);
  if (!csv) return std::unexpected(csv.error());
  Columns find(*csv);
  const HeliosColumns columns(find);
  if (auto error = find.error()) return std::unexpected(*std::move(error));
  std::size_t zoned = 0;
  auto trace = read_jobs(*csv, source.bad_rows, [&](Row& row) {
    auto job = logged_job(row, columns);
    zoned += job && has_zone(row.text(columns.submit)) ? 1 : 0;
    return job;
  });
  if (!trace) return trace;
  if (zoned > 0 && zoned < trace->jobs.size()) {
    trace->warnings.push_back("column 'submit_time': " + std::to_string(zoned) + " of " +
                              std::to_string(trace->jobs.size()) +
                              " times say their zone, the others are read as UTC");
  }
  start_at_origin(*trace);
  return trace;
}

}  // namespace berth::trace
