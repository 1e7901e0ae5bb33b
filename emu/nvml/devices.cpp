// NVML entry points that find a GPU and say what it is.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "emu/nvml/session.hpp"
#include "emu/state/identity.hpp"

namespace berth::emu {
namespace {

constexpr std::uint32_t kPciDevice = 0x000010de;  // NVIDIA's vendor number; no device of theirs

NvmlResult find(NvmlDevice* device, auto matches) {
  const auto region = session();
  if (!region) return NvmlResult::Uninitialized;
  if (device == nullptr) return NvmlResult::InvalidArgument;
  for (std::uint32_t index = 0; index < region->gpu_count(); ++index) {
    const auto& gpu = region->layout().gpus[index];
    if (!matches(gpu.config, index)) continue;
    if (gpu.lost.load() != 0) return NvmlResult::GpuIsLost;
    *device = handle_of(index);
    return NvmlResult::Success;
  }
  return NvmlResult::NotFound;
}

NvmlResult find_instance(NvmlDevice* device, std::string_view uuid) {
  const auto region = session();
  if (!region) return NvmlResult::Uninitialized;
  if (device == nullptr) return NvmlResult::InvalidArgument;
  const auto& layout = region->layout();
  for (auto entry = region->gpu_count(); entry < entries_of(layout); ++entry) {
    const auto instance = instance_at(layout, entry);
    if (!instance || !instance->has_compute || uuid_of_instance(layout, entry) != uuid) continue;
    *device = handle_of(entry);
    return NvmlResult::Success;
  }
  return NvmlResult::NotFound;
}

/// GPUs 2n and 2n + 1 share a switch, four in a row a memory node, as in common servers.
NvmlTopology distance(std::uint32_t one, std::uint32_t other) {
  if (one == other) return NvmlTopology::Internal;
  if (one / 2 == other / 2) return NvmlTopology::SingleSwitch;
  if (one / 4 == other / 4) return NvmlTopology::Node;
  return NvmlTopology::System;
}

NvmlPciInfo pci_of(const GpuConfig& config) {
  NvmlPciInfo info{};
  info.bus = config.pci_bus;
  info.pci_device_id = kPciDevice;
  std::ranges::copy(format_bus_id(config.pci_bus, 4), info.bus_id_legacy);
  std::ranges::copy(format_bus_id(config.pci_bus, 8), info.bus_id);
  return info;
}

}  // namespace

extern "C" {

NvmlResult nvmlDeviceGetCount_v2(std::uint32_t* count) {
  const auto region = session();
  if (!region) return NvmlResult::Uninitialized;
  if (count == nullptr) return NvmlResult::InvalidArgument;
  *count = region->gpu_count();
  return NvmlResult::Success;
}

NvmlResult nvmlDeviceGetCount(std::uint32_t* count) { return nvmlDeviceGetCount_v2(count); }

NvmlResult nvmlDeviceGetHandleByIndex_v2(std::uint32_t index, NvmlDevice* device) {
  const auto found =
      find(device, [&](const GpuConfig&, std::uint32_t candidate) { return candidate == index; });
  return found == NvmlResult::NotFound ? NvmlResult::InvalidArgument : found;
}

NvmlResult nvmlDeviceGetHandleByIndex(std::uint32_t index, NvmlDevice* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

NvmlResult nvmlDeviceGetHandleByUUID(const char* uuid, NvmlDevice* device) {
  if (uuid == nullptr) return NvmlResult::InvalidArgument;
  if (std::string_view(uuid).starts_with("MIG-")) return find_instance(device, uuid);
  return find(device, [&](const GpuConfig& config, std::uint32_t) {
    return format_uuid(config.uuid) == uuid;
  });
}

NvmlResult nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, NvmlDevice* device) {
  if (bus_id == nullptr) return NvmlResult::InvalidArgument;
  const auto bus = parse_bus_id(bus_id);
  return find(device,
              [&](const GpuConfig& config, std::uint32_t) { return config.pci_bus == bus; });
}

NvmlResult nvmlDeviceGetHandleByPciBusId(const char* bus_id, NvmlDevice* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

NvmlResult nvmlDeviceGetName(NvmlDevice device, char* name, std::uint32_t length) {
  return on_device(device, [&](const GpuCall& call) {
    return copy_text(call.gpu.config.name.data(), name, length);
  });
}

NvmlResult nvmlDeviceGetUUID(NvmlDevice device, char* uuid, std::uint32_t length) {
  return on_device(device, [&](const GpuCall& call) {
    return copy_text(is_instance(call) ? uuid_of_instance(call.layout, call.index)
                                       : format_uuid(call.gpu.config.uuid),
                     uuid, length);
  });
}

NvmlResult nvmlDeviceGetIndex(NvmlDevice device, std::uint32_t* index) {
  return answer(device, index, [](const GpuCall& call) { return call.index; });
}

NvmlResult nvmlDeviceGetMinorNumber(NvmlDevice device, std::uint32_t* minor) {
  return answer(device, minor, [](const GpuCall& call) { return call.index; });
}

NvmlResult nvmlDeviceGetPciInfo_v3(NvmlDevice device, NvmlPciInfo* info) {
  return answer(device, info, [](const GpuCall& call) { return pci_of(call.gpu.config); });
}

/// Unlike _v3 it ends before `bus_id`, where _v2 keeps four reserved numbers.
NvmlResult nvmlDeviceGetPciInfo_v2(NvmlDevice device, void* info) {
  return on_device(device, [&](const GpuCall& call) {
    if (info == nullptr) return NvmlResult::InvalidArgument;
    const auto pci = pci_of(call.gpu.config);
    std::memcpy(info, &pci, offsetof(NvmlPciInfo, bus_id));
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetPciInfo(NvmlDevice device, void* info) {
  return nvmlDeviceGetPciInfo_v2(device, info);
}

NvmlResult nvmlDeviceGetBrand(NvmlDevice device, int* brand) {
  constexpr int kNvidia = 14;
  return answer(device, brand, [](const GpuCall&) { return kNvidia; });
}

NvmlResult nvmlDeviceGetArchitecture(NvmlDevice device, std::uint32_t* architecture) {
  constexpr std::uint32_t kAmpere = 7;
  return answer(device, architecture, [](const GpuCall&) { return kAmpere; });
}

NvmlResult nvmlDeviceGetCudaComputeCapability(NvmlDevice device, int* major, int* minor) {
  if (minor == nullptr) return NvmlResult::InvalidArgument;
  *minor = 0;
  return answer(device, major, [](const GpuCall&) { return 8; });
}

NvmlResult nvmlDeviceGetTopologyCommonAncestor(NvmlDevice one, NvmlDevice other,
                                               NvmlTopology* level) {
  const auto second = gpu_of(other);
  return on_device(one, [&](const GpuCall& call) {
    if (second >= call.gpu_count || level == nullptr) return NvmlResult::InvalidArgument;
    *level = distance(call.index, second);
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetTopologyNearestGpus(NvmlDevice device, NvmlTopology level,
                                            std::uint32_t* count, NvmlDevice* devices) {
  return on_device(device, [&](const GpuCall& call) {
    if (count == nullptr) return NvmlResult::InvalidArgument;
    const auto room = devices == nullptr ? 0 : *count;
    *count = 0;
    for (std::uint32_t other = 0; other < call.gpu_count; ++other) {
      if (other == call.index || distance(call.index, other) != level) continue;
      if (*count < room) devices[*count] = handle_of(other);
      ++*count;
    }
    if (devices != nullptr) *count = std::min(*count, room);
    return NvmlResult::Success;
  });
}

NvmlResult nvmlDeviceGetP2PStatus(NvmlDevice one, NvmlDevice other, int, int* status) {
  constexpr int kNotSupported = 5;
  if (gpu_of(other) >= kMaxGpus) return NvmlResult::InvalidArgument;
  return answer(one, status, [](const GpuCall&) { return kNotSupported; });
}

/// Every GPU is near every CPU: the emulated machine has the CPUs of the real one.
NvmlResult nvmlDeviceGetCpuAffinity(NvmlDevice device, std::uint32_t words, unsigned long* set) {
  return on_device(device, [&](const GpuCall&) {
    if (set == nullptr || words == 0) return NvmlResult::InvalidArgument;
    constexpr std::uint64_t kBits = 8 * sizeof(unsigned long);
    const auto processors =
        static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF)));
    std::fill_n(set, words, 0UL);
    for (std::uint64_t bit = 0; bit < std::min(processors, words * kBits); ++bit) {
      set[bit / kBits] |= 1UL << (bit % kBits);
    }
    return NvmlResult::Success;
  });
}

}  // extern "C"

}  // namespace berth::emu
