// The files of the Tiresias simulator (SymbioticLab/Tiresias): jobs and cluster.
#include <algorithm>

#include "trace/csv.hpp"
#include "trace/trace.hpp"

namespace berth::trace {

namespace {

constexpr std::int64_t kMostGpus = 1'000'000;

struct Columns {
  std::size_t id, gpus, submit, duration;
};

Expected<Columns> columns_of(const Csv& csv) {
  Columns columns{};
  const auto find = [&](std::string_view name, std::size_t& out) -> Expected<void> {
    const auto column = csv.column(name);
    if (!column) return std::unexpected(column.error());
    out = *column;
    return {};
  };
  if (auto found = find("job_id", columns.id); !found) return std::unexpected(found.error());
  if (auto found = find("num_gpu", columns.gpus); !found) return std::unexpected(found.error());
  if (auto found = find("submit_time", columns.submit); !found) {
    return std::unexpected(found.error());
  }
  if (auto found = find("duration", columns.duration); !found) {
    return std::unexpected(found.error());
  }
  return columns;
}

Expected<TraceJob> job_of(const Csv& csv, const Columns& columns) {
  const auto gpus = csv.integer(columns.gpus, 1, kMostGpus);
  if (!gpus) return std::unexpected(gpus.error());
  const auto submit = csv.duration(columns.submit);
  if (!submit) return std::unexpected(submit.error());
  const auto duration = csv.duration(columns.duration);
  if (!duration) return std::unexpected(duration.error());
  if (csv.field(columns.id).empty()) {
    return std::unexpected(csv.error(columns.id, "a job's name"));
  }
  TraceJob job{.name = std::string(csv.field(columns.id)),
               .submit = kStart + *submit,
               .duration = seconds(*duration / seconds(1)),
               .spec = {}};
  job.spec.request.gpu.count = GpuCount(*gpus);
  job.spec.request.gpu.sharing = Sharing::Alone;
  return job;
}

}  // namespace

Expected<Trace> read_tiresias(std::string_view text, std::string_view file) {
  auto csv = Csv::open(text, file);
  if (!csv) return std::unexpected(csv.error());
  const auto columns = columns_of(*csv);
  if (!columns) return std::unexpected(columns.error());
  Trace trace;
  for (;;) {
    const auto more = csv->next();
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    auto job = job_of(*csv, *columns);
    if (!job) return std::unexpected(job.error());
    trace.jobs.push_back(std::move(*job));
  }
  std::ranges::stable_sort(trace.jobs, {}, &TraceJob::submit);
  return trace;
}

Expected<Cluster> read_tiresias_cluster(std::string_view text, std::string_view file) {
  auto csv = Csv::open(text, file);
  if (!csv) return std::unexpected(csv.error());
  const auto row = csv->next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return fail(ErrorCode::BadData, std::string(file) + ": no line after the header");
  std::string shape;
  for (const std::string_view name : {"num_switch", "num_node_p_switch", "num_gpu_p_node"}) {
    const auto column = csv->column(name);
    if (!column) return std::unexpected(column.error());
    const auto value = csv->integer(*column, 1, kMostGpus);
    if (!value) return std::unexpected(value.error());
    shape += (shape.empty() ? "" : "x") + std::to_string(*value);
  }
  return parse_cluster(shape);
}

}  // namespace berth::trace
