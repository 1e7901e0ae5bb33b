// Alibaba's GPU jobs with spot instances (Duan et al., GFS, ASPLOS 2026): the table of jobs, and
// the nodes.
//
// A job asks for several workers with as many GPUs each. High-priority jobs come before spot jobs:
// they have priority 1.
#include <algorithm>

#include "trace/card_sizes.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

constexpr std::int64_t kMostWorkers = 100'000;
constexpr std::int64_t kMostWorkerCores = 100'000;

struct SpotColumns {
  explicit SpotColumns(Columns& columns)
      : name(columns.need("job_name")),
        gpus(columns.need("gpu_request")),
        workers(columns.need("worker_num")),
        submit(columns.need("submit_time")),
        duration(columns.need("duration")),
        kind(columns.need("job_type")),
        user(columns.find("organization")),
        type(columns.find("gpu_model")),
        cores(columns.find("cpu_request")) {}

  std::size_t name, gpus, workers, submit, duration, kind;
  std::optional<std::size_t> user, type, cores;
};

/// Whole GPUs of all workers, or a part of one for each.
void read_worker_gpus(Row& row, const SpotColumns& columns, TraceJob& job) {
  constexpr std::int64_t kWholeGpu = 1'000'000;
  const std::int64_t each = row.millionths(columns.gpus, kMostGpus);
  const std::int64_t workers = row.integer(columns.workers, 0, kMostWorkers);
  const std::int64_t whole = (each + kWholeGpu - 1) / kWholeGpu;
  if (whole * workers > kMostGpus) row.refuse(columns.gpus, "1000000 GPUs of a job at most");
  GpuRequest& gpu = job.spec.request.gpu;
  gpu.count = GpuCount(std::min(whole * workers, kMostGpus));
  gpu.sharing = each % kWholeGpu == 0 ? Sharing::Alone : Sharing::Shared;
  if (each < kWholeGpu && each > 0) {
    gpu.milli = GpuMilli(std::max<std::int64_t>(1, each / 1000));
    gpu.vram = kUnstated;
  } else {
    gpu.sharing = Sharing::Alone;
  }
  if (row.is_missing(columns.cores)) return;
  const std::int64_t cores = row.millionths(*columns.cores, kMostWorkerCores) / 1000 * workers;
  job.spec.request.cpu = CpuMilli(std::min(cores, kMostCores));
}

std::optional<TraceJob> spot_job(Row& row, const SpotColumns& columns) {
  const std::string_view kind = row.text(columns.kind);
  if (kind != "HP" && kind != "Spot") row.refuse(columns.kind, "HP or Spot");
  TraceJob job = whole_gpu_job(row.name(columns.name), GpuCount(0));
  read_worker_gpus(row, columns, job);
  if (row.is_missing(columns.duration)) return row.leave_out(kNotEnded);
  job.submit = kStart + row.duration(columns.submit);
  job.duration = row.duration(columns.duration);
  if (job.spec.request.gpu.count == GpuCount(0)) return row.leave_out(kWithoutGpu);
  if (job.duration == Duration(0)) return row.leave_out(kNeverRan);
  job.user = row.text(columns.user);
  job.model = kind;
  job.spec.priority = kind == "HP" ? 1 : 0;
  if (!row.is_missing(columns.type)) job.types = {std::string(row.text(*columns.type))};
  return job;
}

}  // namespace

Expected<Trace> read_spot(const Source& source) {
  auto csv = open_table(source);
  if (!csv) return std::unexpected(csv.error());
  Columns find(*csv);
  const SpotColumns columns(find);
  if (auto error = find.error()) return std::unexpected(*std::move(error));
  return read_jobs(*csv, source.bad_rows, [&](Row& row) { return spot_job(row, columns); });
}

Expected<Cluster> read_spot_nodes(std::string_view text, std::string_view file) {
  auto csv = Csv::open(text, file);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t name = columns.need("node_name"), type = columns.need("gpu_model");
  const std::size_t gpus = columns.need("gpu_capacity_num"), cpu = columns.need("cpu_num");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  return read_nodes(*csv, [&](Row& row) {
    return NodeShape{.name = row.name(name),
                     .gpus = static_cast<std::uint32_t>(row.integer(gpus, 0, kMostGpus)),
                     .vram = card_size(row.text(type)),
                     .type = std::string(row.text(type)),
                     .slots = kSlotsByShare,
                     .cpu = CpuMilli(row.integer(cpu, 0, kMostCores / 1000) * 1000)};
  });
}

}  // namespace berth::trace
