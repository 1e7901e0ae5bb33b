// Microsoft's Philly cluster (Jeon et al., ATC 2019) in the form of the Pollux and Sia artefacts:
// one row per job, its virtual cluster as its user, times of the calendar; and the machine list.
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

/// `12GB`: what is printed on a card is a power of two.
std::optional<Bytes> printed_size(std::string_view text) {
  if (!text.ends_with("GB")) return std::nullopt;
  std::int64_t size = 0;
  for (const char c : text.substr(0, text.size() - 2)) {
    if (c < '0' || c > '9' || size > 1000) return std::nullopt;
    size = size * 10 + (c - '0');
  }
  return size == 0 ? std::nullopt : std::optional(Bytes(size << 30));
}

}  // namespace

Expected<Trace> read_philly(const Source& source) {
  const std::size_t first = source.text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && is_philly_json(source.text.substr(first))) {
    return read_philly_json(source);
  }
  auto csv = open_table(source);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t submit = columns.need("timestamp");
  const std::size_t duration = columns.need("duration");
  const std::size_t gpus = columns.need("num_gpus");
  const auto group = columns.find("cluster");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  std::size_t number = 0;
  auto trace = read_jobs(*csv, source.bad_rows, [&](Row& row) {
    TraceJob job = whole_gpu_job(std::to_string(++number), row.gpus(gpus));
    job.submit = row.calendar(submit, "2017-10-09 07:01:55");
    job.duration = row.duration(duration);
    job.user = row.text(group);
    return std::optional(std::move(job));
  });
  if (trace) start_at_origin(*trace);
  return trace;
}

Expected<Cluster> read_philly_machines(std::string_view text, std::string_view file) {
  auto csv = Csv::open(text, file);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t name = columns.need("machineId");
  const std::size_t gpus = columns.need("number of GPUs");
  const auto memory = columns.find("single GPU mem");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  return read_nodes(*csv, [&](Row& row) {
    const auto size = memory ? printed_size(row.text(*memory)) : kUnknownCard;
    if (!size) row.refuse(*memory, "a size such as 12GB");
    return NodeShape{.name = row.name(name),
                     .gpus = static_cast<std::uint32_t>(row.integer(gpus, 0, kMostGpus)),
                     .vram = size.value_or(Bytes(0)),
                     .type = memory ? std::string(row.text(*memory)) : "gpu"};
  });
}

}  // namespace berth::trace
