// Muri (Zhao et al., SIGCOMM 2022): the columns of the Tiresias simulator and more, times in
// milliseconds.
#include "trace/rows.hpp"
#include "trace/speed_files.hpp"

namespace berth::trace {

namespace {

/// What its simulator adds to the time of an iteration, though not to its stages.
constexpr std::int64_t kMuriPerMille = 1'015;

struct IterationColumns {
  std::optional<std::size_t> alone;
  std::array<std::optional<std::size_t>, 3> stages;
};

IterationColumns iteration_columns(Columns& columns) {
  return {.alone = columns.find("iteration_time"),
          .stages = {columns.find("resource_time_0"), columns.find("resource_time_1"),
                     columns.find("resource_time_2")}};
}

Duration iteration_time(Row& row, std::size_t column) {
  const Duration time = row.duration(column, kMilliseconds);
  if (time > Iteration::kMost) row.refuse(column, "a time of an hour at most");
  return time;
}

Iteration iteration_of(Row& row, const IterationColumns& columns) {
  Iteration iteration;
  if (row.is_missing(columns.alone)) return iteration;
  iteration.alone = iteration_time(row, *columns.alone) * kMuriPerMille / 1'000;
  for (std::size_t i = 0; i < iteration.stages.size(); ++i) {
    if (row.is_missing(columns.stages[i])) continue;
    iteration.stages[i] = iteration_time(row, *columns.stages[i]);
  }
  return iteration;
}

}  // namespace

Expected<Trace> read_muri(const Source& source) {
  auto csv = open_table(source);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t id = columns.need("job_id"), gpus = columns.need("num_gpu");
  const std::size_t submit = columns.need("submit_time"), duration = columns.need("duration");
  const auto model = columns.find("model_name");
  const IterationColumns iteration = iteration_columns(columns);
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  return read_jobs(*csv, source.bad_rows, [&](Row& row) {
    TraceJob job = whole_gpu_job(row.name(id), row.gpus(gpus));
    job.submit = kStart + row.duration(submit, kMilliseconds);
    job.duration = row.duration(duration, kMilliseconds);
    job.model = row.text(model);
    job.iteration = iteration_of(row, iteration);
    return std::optional(std::move(job));
  });
}

Expected<void> read_muri_stages(Csv& csv, Speeds& into) {
  Columns find(csv);
  const std::size_t model = find.need("model_name"), gpus = find.need("num_gpu");
  const IterationColumns columns = iteration_columns(find);
  if (auto error = find.error()) return std::unexpected(*std::move(error));
  return each_row(csv, [&](Row& row) {
    const Iteration iteration = iteration_of(row, columns);
    if (iteration.alone == Duration::zero()) return;
    into.set_iteration(std::string(row.text(model)), row.gpus(gpus).raw(), iteration);
  });
}

}  // namespace berth::trace
