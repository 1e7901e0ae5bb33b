// NVML entry points that say what a GPU is doing: memory, processes, utilisation.
#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "emu/nvml/session.hpp"
#include "emu/state/clock.hpp"

namespace berth::emu {
namespace {

struct Holder {
  std::uint32_t slot;
  std::uint32_t pid;
  std::uint64_t bytes;
  std::uint32_t instance = kNvmlNoInstance;  // of a GPU that is split
};

/// Live processes with memory in one entry: a GPU or a MIG instance.
std::vector<Holder> holders_in(const GpuCall& call, std::uint32_t entry) {
  const Ledger ledger(call.layout, entry);
  const auto instance = entry < call.gpu_count ? kNvmlNoInstance : entry;
  std::vector<Holder> holders;
  for (std::uint32_t slot = 0; slot < used_slots(call.layout); ++slot) {
    const auto owner = call.layout.owners[slot].load();
    const auto granules = ledger.granules_of(slot);
    if (owner == 0 || granules == 0) continue;
    holders.push_back(
        {slot, static_cast<std::uint32_t>(pid_of(owner)), granules * kGranule, instance});
  }
  return holders;
}

/// Live processes with memory on the GPU, on its instances too.
std::vector<Holder> holders_of(const GpuCall& call) {
  reap_dead(call.layout);
  auto holders = holders_in(call, call.index);
  if (is_instance(call)) return holders;
  for (const auto& instance : instances_of(call.layout, call.index)) {
    const auto more = holders_in(call, instance.entry);
    holders.insert(holders.end(), more.begin(), more.end());
  }
  return holders;
}

NvmlMemoryV2 memory_of(const GpuCall& call) {
  reap_dead(call.layout);
  const auto& config = call.gpu.config;
  const auto used = Ledger(call.layout, call.index).used_granules() * kGranule;
  return {.version = kNvmlMemoryV2Tag,
          .total = config.total_bytes,
          .reserved = config.reserved_bytes,
          .free = config.total_bytes - config.reserved_bytes - used,
          .used = used};
}

template <class Entry>
Entry entry_of(const Holder& holder);

template <>
NvmlProcessInfoV1 entry_of(const Holder& holder) {
  return {.pid = holder.pid, .used_gpu_memory = holder.bytes};
}

template <>
NvmlProcessInfo entry_of(const Holder& holder) {
  return {.pid = holder.pid,
          .used_gpu_memory = holder.bytes,
          .gpu_instance_id = holder.instance,
          .compute_instance_id = holder.instance == kNvmlNoInstance ? kNvmlNoInstance : 0};
}

/// The NVML way of returning a list: `*count` is the room on entry, the number needed on return.
enum class Of { All, MpsClients };

template <class Entry>
NvmlResult list_processes(NvmlDevice device, std::uint32_t* count, Entry* entries,
                          Of which = Of::All) {
  return on_device(device, [&](const GpuCall& call) {
    if (count == nullptr) return NvmlResult::InvalidArgument;
    auto holders = holders_of(call);
    if (which == Of::MpsClients) {
      std::erase_if(holders, [&](const Holder& holder) {
        return call.layout.mps[holder.slot].server.load() == 0;
      });
    }
    const auto room = *count;
    *count = static_cast<std::uint32_t>(holders.size());
    if (holders.empty()) return NvmlResult::Success;
    if (room < holders.size()) return NvmlResult::InsufficientSize;
    if (entries == nullptr) return NvmlResult::InvalidArgument;
    std::ranges::transform(holders, entries, entry_of<Entry>);
    return NvmlResult::Success;
  });
}

NvmlResult list_nothing(NvmlDevice device, std::uint32_t* count) {
  return answer(device, count, [](const GpuCall&) { return 0U; });
}

/// Kernel time a process had run when we were last asked.
struct Served {
  std::uint64_t real_nanoseconds = 0;
  std::uint64_t served_nanoseconds = 0;
};

/// Share of the GPU since the last call about the same process, in percent.
std::uint32_t share_since_last_call(const GpuCall& call, const Holder& holder) {
  static std::mutex mutex;
  static auto* const last = new std::map<std::pair<std::uint32_t, ProcessKey>, Served>;
  const Served now{monotonic_nanoseconds(),
                   GpuClock(call.layout, call.index).served_nanoseconds(holder.slot)};
  const std::lock_guard lock(mutex);
  auto& before = (*last)[{call.index, call.layout.owners[holder.slot].load()}];
  const auto elapsed = now.real_nanoseconds - before.real_nanoseconds;
  const auto ran =
      now.served_nanoseconds - std::min(now.served_nanoseconds, before.served_nanoseconds);
  const bool first = before.real_nanoseconds == 0;
  before = now;
  return first || elapsed == 0
             ? 0
             : static_cast<std::uint32_t>(std::min<std::uint64_t>(100, ran * 100 / elapsed));
}

}  // namespace

extern "C" {

NvmlResult nvmlDeviceGetMemoryInfo(NvmlDevice device, NvmlMemory* memory) {
  return on_device(device, [&](const GpuCall& call) {
    if (call.gpu.config.hides_memory != 0) return NvmlResult::NotSupported;
    if (memory == nullptr) return NvmlResult::InvalidArgument;
    const auto now = memory_of(call);
    // The first version has no `reserved`: it counts as used.
    *memory = {.total = now.total, .free = now.free, .used = now.used + now.reserved};
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetMemoryInfo_v2(NvmlDevice device, NvmlMemoryV2* memory) {
  if (memory != nullptr && memory->version != kNvmlMemoryV2Tag) {
    return NvmlResult::ArgumentVersionMismatch;
  }
  return on_device(device, [&](const GpuCall& call) {
    if (call.gpu.config.hides_memory != 0) return NvmlResult::NotSupported;
    if (memory == nullptr) return NvmlResult::InvalidArgument;
    *memory = memory_of(call);
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetBAR1MemoryInfo(NvmlDevice device, NvmlBar1Memory* memory) {
  constexpr std::uint64_t kAperture = 256 * kMebibyte;
  return answer(device, memory, [](const GpuCall&) {
    return NvmlBar1Memory{.total = kAperture, .free = kAperture, .used = 0};
  });
}

NvmlResult nvmlDeviceGetUtilizationRates(NvmlDevice device, NvmlUtilization* utilization) {
  return on_device(device, [&](const GpuCall& call) {
    if (is_instance(call) || !mig_profiles(call.layout).empty()) return NvmlResult::NotSupported;
    if (utilization == nullptr) return NvmlResult::InvalidArgument;
    const auto percent = GpuClock(call.layout, call.index).utilisation_percent();
    *utilization = {.gpu = percent, .memory = percent / 2};
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetComputeRunningProcesses_v3(NvmlDevice device, std::uint32_t* count,
                                                   NvmlProcessInfo* infos) {
  return list_processes(device, count, infos);
}

NvmlResult nvmlDeviceGetComputeRunningProcesses_v2(NvmlDevice device, std::uint32_t* count,
                                                   NvmlProcessInfo* infos) {
  return list_processes(device, count, infos);
}

NvmlResult nvmlDeviceGetComputeRunningProcesses(NvmlDevice device, std::uint32_t* count,
                                                NvmlProcessInfoV1* infos) {
  return list_processes(device, count, infos);
}

NvmlResult nvmlDeviceGetGraphicsRunningProcesses_v3(NvmlDevice device, std::uint32_t* count,
                                                    NvmlProcessInfo*) {
  return list_nothing(device, count);
}

NvmlResult nvmlDeviceGetGraphicsRunningProcesses_v2(NvmlDevice device, std::uint32_t* count,
                                                    NvmlProcessInfo*) {
  return list_nothing(device, count);
}

NvmlResult nvmlDeviceGetGraphicsRunningProcesses(NvmlDevice device, std::uint32_t* count,
                                                 NvmlProcessInfoV1*) {
  return list_nothing(device, count);
}

NvmlResult nvmlDeviceGetMPSComputeRunningProcesses_v3(NvmlDevice device, std::uint32_t* count,
                                                      NvmlProcessInfo* infos) {
  return list_processes(device, count, infos, Of::MpsClients);
}

NvmlResult nvmlDeviceGetMPSComputeRunningProcesses_v2(NvmlDevice device, std::uint32_t* count,
                                                      NvmlProcessInfo* infos) {
  return list_processes(device, count, infos, Of::MpsClients);
}

NvmlResult nvmlDeviceGetMPSComputeRunningProcesses(NvmlDevice device, std::uint32_t* count,
                                                   NvmlProcessInfoV1* infos) {
  return list_processes(device, count, infos, Of::MpsClients);
}

/// One sample per process: its share since this library was last asked.
NvmlResult nvmlDeviceGetProcessUtilization(NvmlDevice device, NvmlProcessUtilizationSample* samples,
                                           std::uint32_t* count, std::uint64_t) {
  return on_device(device, [&](const GpuCall& call) {
    if (count == nullptr) return NvmlResult::InvalidArgument;
    const auto holders = holders_of(call);
    const auto room = *count;
    *count = static_cast<std::uint32_t>(holders.size());
    if (holders.empty()) return NvmlResult::NotFound;
    if (samples == nullptr || room < holders.size()) return NvmlResult::InsufficientSize;
    const auto now = monotonic_nanoseconds() / 1000;
    std::ranges::transform(holders, samples, [&](const Holder& holder) {
      const auto share = share_since_last_call(call, holder);
      return NvmlProcessUtilizationSample{.pid = holder.pid,
                                          .time_stamp = now,
                                          .sm_util = share,
                                          .mem_util = share / 2,
                                          .enc_util = 0,
                                          .dec_util = 0};
    });
    return NvmlResult::Success;
  });
}

}  // extern "C"

}  // namespace berth::emu
