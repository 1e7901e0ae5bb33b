#include <algorithm>
#include <charconv>
#include <vector>

#include "core/knowledge/speeds.hpp"
#include "core/text/amounts.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

/// The numbers between the x's; empty if one is not from 1 to kMostGpus or so is their product.
std::vector<std::uint32_t> factors(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  std::int64_t product = 1;
  for (const char *at = text.data(), *end = at + text.size();;) {
    std::uint32_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 1 || number > kMostGpus) return {};
    product *= number;
    if (product > kMostGpus) return {};
    numbers.push_back(number);
    if (stop == end) return numbers;
    if (*stop != 'x' || numbers.size() == 3) return {};
    at = stop + 1;
  }
}

/// Where the size of a GPU begins, with the x before it; npos without one.
std::size_t size_at(std::string_view text) {
  const std::size_t last = text.rfind('x');
  const bool has_unit = !text.empty() && (text.back() < '0' || text.back() > '9');
  if (!has_unit || last == text.npos) return text.npos;
  const auto size = parse_size(text.substr(last + 1));
  return size && *size > Bytes(0) ? last : text.npos;
}

}  // namespace

bool is_shape(std::string_view text) {
  return text.substr(0, size_at(text)).find_first_not_of("0123456789x") == text.npos;
}

Expected<Cluster> parse_cluster(std::string_view text) {
  const std::size_t size = size_at(text);
  std::vector<std::uint32_t> numbers = factors(text.substr(0, size));
  if (numbers.size() < 2) {
    return fail(ErrorCode::InvalidArgument,
                "cluster '" + std::string(text) +
                    "': expected NODESxGPUS or SWITCHESxNODESxGPUS with 1,000,000 GPUs at most, "
                    "and their memory behind another x if need be, as 4x8x80G");
  }
  const Bytes vram = size == text.npos ? kUnknownCard : *parse_size(text.substr(size + 1));
  if (numbers.size() == 2) numbers.insert(numbers.begin(), 1);
  Cluster cluster;
  for (std::uint32_t s = 0; s < numbers[0]; ++s) {
    cluster.add_switch();
    for (std::uint32_t n = 0; n < numbers[1]; ++n) {
      cluster.add_node(
          {.name = "n" + std::to_string(s * numbers[1] + n), .gpus = numbers[2], .vram = vram});
    }
  }
  return cluster;
}

Expected<void> accept_types(Trace& trace, const Cluster& cluster) {
  const auto names = cluster.type_names();
  if (names.size() >= limits::kMostTypes) {
    return fail(ErrorCode::Conflict, "the cluster has 64 GPU types, one more than jobs can choose");
  }
  const GpuTypes none = GpuTypes{1} << names.size();  // of a type that no GPU has
  for (TraceJob& job : trace.jobs) {
    GpuTypes& types = job.spec.request.gpu.types;
    types = 0;
    for (const std::string& name : job.types) {
      const auto index = std::ranges::find(names, name) - names.begin();
      if (index < std::ssize(names)) types |= GpuTypes{1} << index;
    }
    if (types == 0 && !job.types.empty()) types = none;
  }
  return {};
}

std::size_t keep_off_types(Trace& trace, const Cluster& cluster, const Speeds& speeds) {
  if (!speeds.rules_out_types()) return 0;
  const auto names = cluster.type_names();
  const GpuTypes none = GpuTypes{1} << names.size();
  std::size_t count = 0;
  for (TraceJob& job : trace.jobs) {
    GpuRequest& gpu = job.spec.request.gpu;
    const GpuTypes before = gpu.types == 0 ? none - 1 : gpu.types;
    GpuTypes left = before;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!speeds.runs_on(job.model, gpu.count.raw(), names[i])) left &= ~(GpuTypes{1} << i);
    }
    if (left == before) continue;
    gpu.types = left == 0 ? none : left;
    ++count;
  }
  return count;
}

}  // namespace berth::trace
