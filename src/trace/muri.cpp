// Muri (Zhao et al., SIGCOMM 2022): the columns of the Tiresias simulator and more, times in
// milliseconds. The time of an iteration on each resource is not read.
#include "trace/rows.hpp"

namespace berth::trace {

Expected<Trace> read_muri(const Source& source) {
  auto csv = open_table(source);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t id = columns.need("job_id"), gpus = columns.need("num_gpu");
  const std::size_t submit = columns.need("submit_time"), duration = columns.need("duration");
  const auto model = columns.find("model_name");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  return read_jobs(*csv, source.bad_rows, [&](Row& row) {
    TraceJob job = whole_gpu_job(row.name(id), row.gpus(gpus));
    job.submit = kStart + row.duration(submit, kMilliseconds);
    job.duration = row.duration(duration, kMilliseconds);
    job.model = row.text(model);
    return std::optional(std::move(job));
  });
}

}  // namespace berth::trace
