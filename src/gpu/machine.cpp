#include "gpu/machine.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace berth {

namespace {

/// GPUs in a row that are alike.
struct Run {
  std::uint32_t gpus = 0;
  std::string name;            ///< "" while none is known.
  bool is_mig = false;         ///< MIG instances.
  std::optional<Bytes> least;  ///< Capacities of those without a problem.
  std::optional<Bytes> largest;
};

bool is_usable(const Device& device) { return device.problem.empty(); }
Bytes capacity_of(const Device& device) { return device.total - device.reserved; }

/// Equal cards differ a little: retired pages, a display.
bool is_alike(const Run& run, const Device& device) {
  const bool same_name = run.name.empty() || device.name.empty() || run.name == device.name;
  if (run.gpus > 0 && run.is_mig != !device.mig_profile.empty()) return false;
  if (!same_name || !is_usable(device) || !run.least) return same_name;
  const Bytes least = std::min(*run.least, capacity_of(device));
  const Bytes largest = std::max(*run.largest, capacity_of(device));
  return (largest - least) * 100 <= largest;
}

void add(Run& run, const Device& device) {
  ++run.gpus;
  if (run.name.empty()) run.name = device.name;
  run.is_mig = run.is_mig || !device.mig_profile.empty();
  if (!is_usable(device)) return;
  const Bytes capacity = capacity_of(device);
  run.least = std::min(run.least.value_or(capacity), capacity);
  run.largest = std::max(run.largest.value_or(capacity), capacity);
}

/// Those among some GPUs in a row, by their places in it.
std::vector<Link> links_in(std::span<const Link> links, std::uint32_t first, std::uint32_t gpus) {
  std::vector<Link> found;
  if (gpus > kMostLinked) return found;
  for (Link link : links) {
    if (link.one < first || link.other >= first + gpus) continue;
    link.one -= first;
    link.other -= first;
    link.nvlinks = std::min(link.nvlinks, kMostNvlinks);
    found.push_back(link);
  }
  return found;
}

std::vector<Run> runs_of(std::span<const Device> devices) {
  std::vector<Run> runs(1);
  for (const Device& device : devices) {
    if (!is_alike(runs.back(), device)) runs.emplace_back();
    add(runs.back(), device);
  }
  return runs;
}

}  // namespace

Cluster describe_machine(std::span<const Device> devices, const MachineOptions& options,
                         std::span<const Link> links) {
  Cluster cluster;
  cluster.add_switch();
  const std::vector<Run> runs = runs_of(devices);
  const auto all = std::max<std::int64_t>(1, static_cast<std::int64_t>(devices.size()));
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    const bool is_whole = runs.size() == 1;
    const auto part = [&](auto amount) {
      return is_whole ? amount : decltype(amount)(amount.raw() / all * run.gpus);
    };
    cluster.add_node({.name = is_whole ? options.name : options.name + "/" + std::to_string(i),
                      .gpus = run.gpus,
                      .vram = run.least.value_or(Bytes(0)),
                      .context = options.context,
                      .type = run.name.empty() ? "gpu" : run.name,
                      .share_mode = run.is_mig ? ShareMode::Mig : ShareMode::TimeSlice,
                      .slots = run.is_mig ? std::uint16_t{1} : options.slots,
                      .cpu = part(options.cpu),
                      .host = part(options.host),
                      .links = links_in(links, first, run.gpus)});
    first += run.gpus;
  }
  return cluster;
}

}  // namespace berth
