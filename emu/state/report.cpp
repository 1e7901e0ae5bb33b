// Reading the state as a whole, and the operator's two commands.
#include <algorithm>

#include "emu/emulator.hpp"
#include "emu/state/clock.hpp"
#include "emu/state/events.hpp"
#include "emu/state/identity.hpp"
#include "emu/state/ledger.hpp"
#include "emu/state/limits.hpp"
#include "emu/state/mig.hpp"
#include "emu/state/region.hpp"

namespace berth::emu {
namespace {

GpuReport report_of(Layout& layout, std::uint32_t index) {
  const auto& gpu = layout.gpus[index];
  const Ledger ledger(layout, index);
  GpuReport report{.uuid = format_uuid(gpu.config.uuid),
                   .bus_id = format_bus_id(gpu.config.pci_bus, 8),
                   .model = gpu.config.name.data(),
                   .total_bytes = gpu.config.total_bytes,
                   .reserved_bytes = gpu.config.reserved_bytes,
                   .used_bytes = ledger.used_granules() * kGranule,
                   .utilisation_percent = GpuClock(layout, index).utilisation_percent(),
                   .lost = gpu.lost.load() != 0,
                   .processes = {},
                   .limits = {}};
  for (std::uint32_t slot = 0; slot < used_slots(layout); ++slot) {
    const auto owner = layout.owners[slot].load();
    const auto granules = ledger.granules_of(slot);
    if (owner != 0 && granules != 0) {
      report.processes.emplace_back(pid_of(owner), granules * kGranule);
    }
  }
  std::ranges::sort(report.processes);
  const auto held = [&](std::uint32_t slot) { return ledger.granules_of(slot); };
  for (const auto& [group, bounds] : limits_on(layout, index)) {
    report.limits.push_back({.group = group,
                             .soft_bytes = bounds.soft * kGranule,
                             .hard_bytes = bounds.hard ? *bounds.hard * kGranule : ~0ULL,
                             .used_bytes = sum_in(layout, group, held) * kGranule});
  }
  return report;
}

Outcome<Region> open_for_gpu(const std::string& path, std::uint32_t gpu) {
  auto region = Region::open(path);
  if (!region) return std::unexpected(region.error().message);
  if (gpu >= region->gpu_count()) {
    return std::unexpected("gpu " + std::to_string(gpu) + ": the highest is " +
                           std::to_string(region->gpu_count() - 1));
  }
  return std::move(*region);
}

}  // namespace

Outcome<std::vector<GpuReport>> report(const std::string& path) {
  const auto region = open_for_gpu(path, 0);
  if (!region) return std::unexpected(region.error());
  reap_dead(region->layout());
  std::vector<GpuReport> reports;
  for (std::uint32_t index = 0; index < entries_of(region->layout()); ++index) {
    const auto instance = instance_at(region->layout(), index);
    if (index >= region->gpu_count() && !instance) continue;
    reports.push_back(report_of(region->layout(), index));
    if (!instance) continue;
    reports.back().uuid = uuid_of_instance(region->layout(), index);
    reports.back().parent = instance->parent;
  }
  return reports;
}

Outcome<void> inject_xid(const std::string& path, std::uint32_t gpu, std::uint32_t xid) {
  const auto region = open_for_gpu(path, gpu);
  if (!region) return std::unexpected(region.error());
  post_xid(region->layout(), {.gpu = gpu, .xid = xid});
  return {};
}

Outcome<void> restore_gpu(const std::string& path, std::uint32_t gpu) {
  const auto region = open_for_gpu(path, gpu);
  if (!region) return std::unexpected(region.error());
  set_lost(region->layout(), gpu, 0);
  return {};
}

}  // namespace berth::emu
