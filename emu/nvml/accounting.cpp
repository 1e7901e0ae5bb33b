// NVML entry points of the accounting mode. Only the memory of processes is accounted for.
#include <unistd.h>

#include <algorithm>

#include "emu/nvml/session.hpp"
#include "emu/state/accounts.hpp"

namespace berth::emu {
namespace {

/// Runs `body` on a whole GPU of which accounts are kept.
template <class Body>
NvmlResult on_accounts(NvmlDevice device, const Body& body) {
  return on_device(device, [&](const GpuCall& call) {
    if (is_instance(call) || !mig_profiles(call.layout).empty()) return NvmlResult::NotSupported;
    if (call.layout.header.keeps_accounts.load() == 0) return NvmlResult::NotSupported;
    return body(call);
  });
}

bool is_holder(const GpuCall& call, std::uint32_t process) {
  const Ledger ledger(call.layout, call.index);
  for (std::uint32_t slot = 0; slot < used_slots(call.layout); ++slot) {
    const auto owner = call.layout.owners[slot].load();
    const bool is_it = owner != 0 && static_cast<std::uint32_t>(pid_of(owner)) == process;
    if (is_it && ledger.granules_of(slot) > 0) return true;
  }
  return false;
}

}  // namespace

extern "C" {

NvmlResult nvmlDeviceGetAccountingMode(NvmlDevice device, int* mode) {
  return on_device(device, [&](const GpuCall& call) {
    if (is_instance(call) || !mig_profiles(call.layout).empty()) return NvmlResult::NotSupported;
    if (mode == nullptr) return NvmlResult::InvalidArgument;
    *mode = call.layout.header.keeps_accounts.load() == 0 ? 0 : 1;
    return NvmlResult::Success;
  });
}

/// Of all GPUs at once, unlike NVIDIA's.
NvmlResult nvmlDeviceSetAccountingMode(NvmlDevice device, int mode) {
  return on_device(device, [&](const GpuCall& call) {
    if (is_instance(call) || !mig_profiles(call.layout).empty()) return NvmlResult::NotSupported;
    if (mode != 0 && mode != 1) return NvmlResult::InvalidArgument;
    if (::geteuid() != 0) return NvmlResult::NoPermission;
    call.layout.header.keeps_accounts.store(static_cast<std::uint32_t>(mode));
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetAccountingStats(NvmlDevice device, std::uint32_t process,
                                        NvmlAccountingStats* stats) {
  return on_accounts(device, [&](const GpuCall& call) {
    if (stats == nullptr) return NvmlResult::InvalidArgument;
    reap_dead(call.layout);
    const auto most = most_held(call.layout, call.index, static_cast<pid_t>(process));
    if (!most) return NvmlResult::NotFound;
    *stats = {};
    stats->max_memory_usage = *most * kGranule;
    stats->is_running = is_holder(call, process) ? 1 : 0;
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetAccountingPids(NvmlDevice device, std::uint32_t* count,
                                       std::uint32_t* processes) {
  return on_accounts(device, [&](const GpuCall& call) {
    if (count == nullptr) return NvmlResult::InvalidArgument;
    const auto known = remembered(call.layout, call.index);
    const auto room = *count;
    *count = static_cast<std::uint32_t>(known.size());
    if (known.empty()) return NvmlResult::Success;
    if (processes == nullptr || room < known.size()) return NvmlResult::InsufficientSize;
    std::ranges::transform(known, processes,
                           [](pid_t process) { return static_cast<std::uint32_t>(process); });
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetAccountingBufferSize(NvmlDevice device, std::uint32_t* size) {
  return answer(device, size, [](const GpuCall&) { return kAccounts; });
}

}  // extern "C"

}  // namespace berth::emu
