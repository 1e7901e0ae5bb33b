#include "policy/allocate/allocator.hpp"

#include <algorithm>

namespace berth {

Rate speed_on(const ClusterView& view, const JobView& job, std::uint8_t type,
              std::span<const JobId> beside) {
  return view.speed(job, {.gpus = job.request().gpu.count.raw(),
                          .nodes = 1,
                          .type = type,
                          .beside = {beside.begin(), beside.end()}});
}

std::vector<TimeShare> Allocator::shares(std::span<const Option> options, const Answer& answer) {
  if (answer.values.size() < options.size()) return {};
  std::vector<TimeShare> shares;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::int64_t part = std::clamp<std::int64_t>(answer.values[i], 0, Rate::kWhole);
    shares.push_back({.part = part, .of = Rate::kWhole});
  }
  return shares;
}

}  // namespace berth
