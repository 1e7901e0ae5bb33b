// Chronus (Gao et al., SoCC 2021): Philly's jobs with deadlines, times in minutes. The first step
// of the expected times, counted from submission, is the deadline. Rows without a GPU are left out.
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

struct ChronusColumns {
  explicit ChronusColumns(Columns& columns)
      : id(columns.need("job_id")),
        gpus(columns.need("num_gpu")),
        submit(columns.need("submit_time")),
        duration(columns.need("duration")),
        steps(columns.need("expect_time_list")),
        best_effort(columns.need("best_effort")),
        user(columns.find("user")),
        model(columns.find("model_name")) {}

  std::size_t id, gpus, submit, duration, steps, best_effort;
  std::optional<std::size_t> user, model;
};

/// The first of `282-300-350`, in minutes.
Duration first_step(Row& row, std::size_t column) {
  std::int64_t value = 0;
  const std::string_view text = row.text(column);
  const std::string_view first = text.substr(0, text.find('-'));
  for (const char c : first) {
    if (c < '0' || c > '9' || value > 10'000'000) {
      row.refuse(column, "minutes with '-' between");
      return Duration(0);
    }
    value = value * 10 + (c - '0');
  }
  if (first.empty()) row.refuse(column, "minutes with '-' between");
  return minutes(value);
}

}  // namespace

Expected<Trace> read_chronus(const Source& source) {
  auto csv = open_table(source);
  if (!csv) return std::unexpected(csv.error());
  Columns find(*csv);
  const ChronusColumns columns(find);
  if (auto error = find.error()) return std::unexpected(*std::move(error));
  return read_jobs(*csv, source.bad_rows, [&](Row& row) -> std::optional<TraceJob> {
    const GpuCount gpus = row.gpus(columns.gpus, 0);
    if (gpus == GpuCount(0)) return row.leave_out(kWithoutGpu);
    TraceJob job = whole_gpu_job(row.name(columns.id), gpus);
    job.submit = kStart + row.duration(columns.submit, kMinutes);
    job.duration = row.duration(columns.duration, kMinutes);
    job.user = row.text(columns.user);
    job.model = row.text(columns.model);
    const bool strict = row.integer(columns.best_effort, 0, 1) == 0;
    if (strict) job.spec.deadline = job.submit + first_step(row, columns.steps);
    return job;
  });
}

}  // namespace berth::trace
