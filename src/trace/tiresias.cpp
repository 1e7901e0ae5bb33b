// The files of the Tiresias simulator (SymbioticLab/Tiresias): jobs and cluster.
#include <algorithm>

#include "core/text/text.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

Expected<Trace> read_tiresias(const Source& source) {
  auto csv = open_table(source);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t id = columns.need("job_id"), gpus = columns.need("num_gpu");
  const std::size_t submit = columns.need("submit_time"), duration = columns.need("duration");
  const auto model = columns.find("model_name");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  return read_jobs(*csv, source.bad_rows, [&](Row& row) {
    const GpuCount count = row.gpus(gpus);
    const Duration from_start = row.duration(submit);
    const Duration run_time = row.duration(duration);
    TraceJob job = whole_gpu_job(row.name(id), count);
    job.submit = kStart + from_start;
    job.duration = seconds(run_time / seconds(1));
    job.model = row.text(model);
    return std::optional(std::move(job));
  });
}

std::string write_tiresias(const Trace& trace) {
  std::string text = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n";
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const TraceJob& job = trace.jobs[i];
    const std::size_t next = std::min(i + 1, trace.jobs.size() - 1);
    text += plain(job.name) + "," + std::to_string(job.spec.request.gpu.count.raw()) + "," +
            seconds_text(job.submit) + ",1," + (job.model.empty() ? "none" : plain(job.model)) +
            "," + seconds_text(job.duration) + "," +
            seconds_text(trace.jobs[next].submit - job.submit) + "\n";
  }
  return text;
}

Expected<Trace> read_tiresias(std::string_view text, std::string_view file) {
  return read_tiresias(Source{.text = text, .file = file});
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
