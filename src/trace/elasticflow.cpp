// ElasticFlow (Gu et al., ASPLOS 2023): jobs of Microsoft's ITP clusters, raw or with a model and a
// deadline, which counts on the clock of the submissions. A best-effort job has none.
#include "core/knowledge/scaling.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

Expected<Trace> read_elasticflow(const Source& source) {
  auto csv = open_table(source);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t id = columns.need("job_id"), gpus = columns.need("num_gpu");
  const std::size_t submit = columns.need("submission_time", "submit_time");
  const std::size_t duration = columns.need("duration");
  const auto batch = columns.find("batch_size");
  const auto model = columns.find("model_name"), best_effort = columns.find("best_effort");
  const auto deadline = columns.find("deadline") ? columns.find("deadline") : columns.find("ddl");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  return read_jobs(*csv, source.bad_rows, [&](Row& row) {
    TraceJob job = whole_gpu_job(row.name(id), row.gpus(gpus));
    job.submit = kStart + row.duration(submit);
    job.duration = row.duration(duration);
    job.model = row.text(model);
    if (batch) job.batch = row.integer(*batch, 0, Scaling::kMostBatch);
    const bool has_deadline = !best_effort || row.integer(*best_effort, 0, 1) == 0;
    if (deadline && has_deadline) job.spec.deadline = kStart + row.duration(*deadline);
    return std::optional(std::move(job));
  });
}

}  // namespace berth::trace
