#include "sim/faults.hpp"

#include <algorithm>
#include <string>

#include "core/text/amounts.hpp"
#include "sim/named_values.hpp"

namespace berth::sim {

namespace {

// Apart from those of jobs.
constexpr std::uint64_t kNodeStream = std::uint64_t{2} << 32;
constexpr std::uint64_t kGpuStream = std::uint64_t{3} << 32;

}  // namespace

Expected<FaultModel> parse_faults(std::string_view text) {
  FaultModel model;
  const bool good = each_named_value(text, [&](std::string_view name, std::string_view value) {
    const auto time = parse_duration(value);
    if (time && name == "node-mtbf") {
      model.node_mtbf = *time;
    } else if (time && name == "gpu-mtbf") {
      model.gpu_mtbf = *time;
    } else if (time && name == "repair") {
      model.repair = *time;
    } else {
      return false;
    }
    return true;
  });
  if (good && model.is_on()) return model;
  return fail(ErrorCode::InvalidArgument, "--faults: '" + std::string(text) +
                                              "' is not node-mtbf=TIME, gpu-mtbf=TIME or both, "
                                              "and repair=TIME, with commas");
}

Faults::Faults(const Cluster& cluster, const FaultModel& model, std::uint64_t seed, Instant from)
    : nodes_(cluster.nodes().size(), {.off = model.node_mtbf, .on = model.repair}, seed,
             kNodeStream, from),
      gpus_(cluster.gpus().size(), {.off = model.gpu_mtbf, .on = model.repair}, seed, kGpuStream,
            from) {}

std::optional<Faults::Change> Faults::take(Instant now) {
  if (nodes_.next() <= gpus_.next()) {
    const auto node = nodes_.take(now);
    return node ? std::optional<Change>(NodeHealth{NodeId(node->which), !node->on}) : std::nullopt;
  }
  const auto gpu = gpus_.take(now);
  return gpu ? std::optional<Change>(GpuHealth{GpuId(gpu->which), !gpu->on}) : std::nullopt;
}

}  // namespace berth::sim
