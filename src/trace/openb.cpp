// Alibaba's openb (Weng et al., "Beware of Fragmentation", ATC 2023): pods that ask for a part of a
// GPU, several GPUs or none, beside host cores and memory; and the nodes.
//
// A pod states no GPU memory. One that asks for a part of a GPU gets so little memory here that the
// parts alone decide which jobs fit, as in the paper.
#include "trace/card_sizes.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

constexpr Duration kWhole = seconds(12'902'960);  ///< How long the trace lasts.
constexpr std::int64_t kMostMiB = std::int64_t{1} << 30;

struct PodColumns {
  explicit PodColumns(Columns& columns)
      : name(columns.need("name")),
        cpu(columns.need("cpu_milli")),
        memory(columns.need("memory_mib")),
        gpus(columns.need("num_gpu")),
        milli(columns.need("gpu_milli")),
        types(columns.find("gpu_spec")),
        created(columns.find("creation_time")),
        scheduled(columns.find("scheduled_time")),
        deleted(columns.find("deletion_time")) {}

  std::size_t name, cpu, memory, gpus, milli;
  std::optional<std::size_t> types, created, scheduled, deleted;
};

void read_request(Row& row, const PodColumns& columns, TraceJob& job) {
  Request& request = job.spec.request;
  request.cpu = CpuMilli(row.integer(columns.cpu, 0, kMostCores));
  request.host = Bytes(row.integer(columns.memory, 0, kMostMiB) << 20);
  const std::int64_t milli = row.integer(columns.milli, 0, 1000);
  const std::int64_t gpus = request.gpu.count.raw();
  if (gpus == 0 || milli == 1000) return;
  if (gpus > 1) return row.refuse(columns.milli, "1000, since it asks for several GPUs");
  if (milli == 0) return row.refuse(columns.milli, "thousandths of a GPU from 1 to 1000");
  request.gpu.sharing = Sharing::Shared;
  request.gpu.milli = GpuMilli(milli);
  request.gpu.vram = kUnstated;
}

/// A pod runs from when it was scheduled, or would have been, to its deletion.
void read_times(Row& row, const PodColumns& columns, TraceJob& job) {
  job.submit = kStart + row.duration(*columns.created);
  const Instant end = kStart + row.duration(*columns.deleted);
  const bool ran = !row.is_missing(columns.scheduled);
  const Instant start = ran ? kStart + row.duration(*columns.scheduled) : job.submit;
  if (end < start) row.refuse(*columns.deleted, "a time not before the pod's start");
  job.duration = end - start;
}

}  // namespace

Expected<Trace> read_openb(const Source& source) {
  auto csv = open_table(source);
  if (!csv) return std::unexpected(csv.error());
  Columns find(*csv);
  const PodColumns columns(find);
  if (auto error = find.error()) return std::unexpected(*std::move(error));
  const bool has_times = columns.created && columns.deleted;
  std::int64_t number = 0;
  return read_jobs(*csv, source.bad_rows, [&](Row& row) {
    TraceJob job = whole_gpu_job(row.name(columns.name), row.gpus(columns.gpus, 0));
    read_request(row, columns, job);
    job.types = names_between(row.text(columns.types), '|');
    job.submit = kStart + seconds(number++);
    job.duration = kWhole;
    if (has_times) read_times(row, columns, job);
    return std::optional(std::move(job));
  });
}

Expected<Cluster> read_openb_nodes(std::string_view text, std::string_view file) {
  auto csv = Csv::open(text, file);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t name = columns.need("sn"), cpu = columns.need("cpu_milli");
  const std::size_t memory = columns.need("memory_mib"), gpus = columns.need("gpu");
  const std::size_t model = columns.need("model");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  return read_nodes(*csv, [&](Row& row) {
    return NodeShape{.name = row.name(name),
                     .gpus = static_cast<std::uint32_t>(row.integer(gpus, 0, kMostGpus)),
                     .vram = card_size(row.text(model)),
                     .type = std::string(row.text(model)),
                     .slots = kSlotsByShare,
                     .cpu = CpuMilli(row.integer(cpu, 0, kMostCores)),
                     .host = Bytes(row.integer(memory, 0, kMostMiB) << 20)};
  });
}

}  // namespace berth::trace
