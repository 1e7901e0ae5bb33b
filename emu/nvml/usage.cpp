// NVML entry points that say what a GPU is doing: memory, processes, utilisation.
#include <algorithm>
#include <deque>
#include <iterator>
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

/// What is known of a process on a GPU: its kernel time at the end of the last period, and the
/// periods in which it ran something.
struct Trail {
  std::uint64_t real_nanoseconds = 0;
  std::uint64_t served_nanoseconds = 0;
  std::deque<NvmlProcessUtilizationSample> samples;
};

constexpr std::uint64_t kPeriod = 100'000'000;  // nanoseconds, at least
constexpr std::size_t kMostSamples = 32;

/// Ends the process's period, if it was long enough.
void follow(const GpuCall& call, const Holder& holder, Trail& trail) {
  const auto now = monotonic_nanoseconds();
  const auto served = GpuClock(call.layout, call.index).served_nanoseconds(holder.slot);
  const bool first = trail.real_nanoseconds == 0;
  const auto elapsed = now - trail.real_nanoseconds;
  if (!first && elapsed < kPeriod) return;
  const auto ran = served - std::min(served, trail.served_nanoseconds);
  trail.real_nanoseconds = now;
  trail.served_nanoseconds = served;
  if (first || ran == 0) return;
  const auto share = std::clamp<std::uint64_t>(ran * 100 / elapsed, 1, 100);
  trail.samples.push_back({.pid = holder.pid,
                           .time_stamp = now / 1000,
                           .sm_util = static_cast<std::uint32_t>(share),
                           .mem_util = static_cast<std::uint32_t>(share / 2),
                           .enc_util = 0,
                           .dec_util = 0});
  if (trail.samples.size() > kMostSamples) trail.samples.pop_front();
}

/// Periods between our calls in which processes that live ran something, after `since`.
std::vector<NvmlProcessUtilizationSample> samples_since(const GpuCall& call, std::uint64_t since) {
  using Trails = std::map<ProcessKey, Trail>;
  static std::mutex mutex;
  static auto* const known = new std::map<std::uint32_t, Trails>;
  const std::lock_guard lock(mutex);
  Trails& before = (*known)[call.index];
  Trails now;
  std::vector<NvmlProcessUtilizationSample> samples;
  for (const Holder& holder : holders_of(call)) {
    const ProcessKey key = call.layout.owners[holder.slot].load();
    Trail& trail = now[key] = std::move(before[key]);
    follow(call, holder, trail);
    std::ranges::copy_if(trail.samples, std::back_inserter(samples),
                         [&](const auto& sample) { return sample.time_stamp > since; });
  }
  before = std::move(now);
  return samples;
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

/// Of processes that ran something, as on a card; of others nothing.
NvmlResult nvmlDeviceGetProcessUtilization(NvmlDevice device, NvmlProcessUtilizationSample* samples,
                                           std::uint32_t* count, unsigned long long since) {
  return on_device(device, [&](const GpuCall& call) {
    if (is_instance(call) || !mig_profiles(call.layout).empty()) return NvmlResult::NotSupported;
    if (count == nullptr) return NvmlResult::InvalidArgument;
    const auto known = samples_since(call, since);
    const auto room = *count;
    *count = static_cast<std::uint32_t>(known.size());
    if (known.empty()) return NvmlResult::NotFound;
    if (samples == nullptr || room < known.size()) return NvmlResult::InsufficientSize;
    std::ranges::copy(known, samples);
    return NvmlResult::Success;
  });
}

}  // extern "C"

}  // namespace berth::emu
