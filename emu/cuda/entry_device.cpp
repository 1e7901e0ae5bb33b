// CUDA driver API: start, versions, devices.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "emu/cuda/driver.hpp"
#include "emu/state/identity.hpp"
#include "emu/version.hpp"

namespace berth::emu {
namespace {

/// Copies what fits and ends it with 0, as the driver does.
void copy_truncated(std::string_view text, char* buffer, int size) {
  const auto fits = std::min(text.size(), static_cast<std::size_t>(size - 1));
  std::memcpy(buffer, text.data(), fits);
  buffer[fits] = '\0';
}

struct Attribute {
  int id;
  int value;
};

/// What programs ask most often, as on a mid-sized card of compute capability 8.0. Attributes not
/// listed are 0: "no such capability".
constexpr Attribute kAttributes[] = {
    {1, 1024},           // threads per block
    {2, 1024},           // block x
    {3, 1024},           // block y
    {4, 64},             // block z
    {5, 2147483647},     // grid x
    {6, 65535},          // grid y
    {7, 65535},          // grid z
    {8, 49152},          // shared memory per block
    {9, 65536},          // constant memory
    {10, 32},            // warp
    {11, 2147483647},    // pitch
    {12, 65536},         // registers per block
    {13, 1400000},       // clock, kHz
    {14, 512},           // texture alignment
    {15, 1},             // copies overlap kernels
    {16, 80},            // multiprocessors
    {31, 1},             // concurrent kernels
    {36, 1200000},       // memory clock, kHz
    {37, 384},           // memory bus, bits
    {38, 40 * 1048576},  // second-level cache
    {39, 2048},          // threads per multiprocessor
    {40, 2},             // copy engines
    {41, 1},             // unified addressing
    {75, 8},             // compute capability, major
    {76, 0},             // and minor
    {78, 1},             // stream priorities
    {81, 167936},        // shared memory per multiprocessor
    {82, 65536},         // registers per multiprocessor
    {87, 2},             // single to double precision
    {90, 1},             // compute preemption
    {97, 166912},        // shared memory per block, opted in
    {106, 32},           // blocks per multiprocessor
    {115, 1},            // memory pools
};

int attribute_of(const Device& device, int id) {
  constexpr int kPciBus = 33;
  if (id == kPciBus) return static_cast<int>(device.config().pci_bus);
  const auto* found = std::ranges::find(kAttributes, id, &Attribute::id);
  return found == std::ranges::end(kAttributes) ? 0 : found->value;
}

}  // namespace

extern "C" {

CudaResult cuInit(unsigned flags) {
  if (flags != 0) return CudaResult::InvalidValue;
  auto& driver = Driver::instance();
  if (!driver.is_own_process()) return CudaResult::NotInitialized;
  const std::lock_guard lock(driver.mutex());
  return driver.initialise();
}

CudaResult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CudaResult::InvalidValue;
  *version = kCudaVersion;
  return CudaResult::Success;
}

CudaResult cuDeviceGet(CudaDevice* device, int ordinal) {
  return with_device(ordinal, [&](Driver&, Device&) {
    if (device == nullptr) return CudaResult::InvalidValue;
    *device = ordinal;
    return CudaResult::Success;
  });
}

CudaResult cuDeviceGetCount(int* count) {
  return with_driver([&](Driver& driver) {
    if (count == nullptr) return CudaResult::InvalidValue;
    *count = driver.device_count();
    return CudaResult::Success;
  });
}

CudaResult cuDeviceGetName(char* name, int length, CudaDevice ordinal) {
  return with_device(ordinal, [&](Driver&, Device& device) {
    if (name == nullptr || length <= 0) return CudaResult::InvalidValue;
    copy_truncated(device.config().name.data(), name, length);
    return CudaResult::Success;
  });
}

CudaResult cuDeviceGetUuid_v2(CudaUuid* uuid, CudaDevice ordinal) {
  return with_device(ordinal, [&](Driver&, Device& device) {
    if (uuid == nullptr) return CudaResult::InvalidValue;
    std::memcpy(uuid->bytes, device.config().uuid.data(), sizeof uuid->bytes);
    return CudaResult::Success;
  });
}

CudaResult cuDeviceGetUuid(CudaUuid* uuid, CudaDevice ordinal) {
  return cuDeviceGetUuid_v2(uuid, ordinal);
}

CudaResult cuDeviceTotalMem_v2(std::size_t* bytes, CudaDevice ordinal) {
  return with_device(ordinal, [&](Driver&, Device& device) {
    if (bytes == nullptr) return CudaResult::InvalidValue;
    *bytes = device.total_bytes();
    return CudaResult::Success;
  });
}

CudaResult cuDeviceGetAttribute(int* value, int attribute, CudaDevice ordinal) {
  constexpr int kLast = 200;  // beyond any release so far
  return with_device(ordinal, [&](Driver&, Device& device) {
    if (value == nullptr || attribute < 1 || attribute > kLast) return CudaResult::InvalidValue;
    *value = attribute_of(device, attribute);
    return CudaResult::Success;
  });
}

CudaResult cuDeviceGetPCIBusId(char* bus_id, int length, CudaDevice ordinal) {
  return with_device(ordinal, [&](Driver&, Device& device) {
    if (bus_id == nullptr || length <= 0) return CudaResult::InvalidValue;
    copy_truncated(format_bus_id(device.config().pci_bus, 4), bus_id, length);
    return CudaResult::Success;
  });
}

CudaResult cuDeviceGetByPCIBusId(CudaDevice* ordinal, const char* bus_id) {
  return with_driver([&](Driver& driver) {
    if (ordinal == nullptr || bus_id == nullptr) return CudaResult::InvalidValue;
    const auto bus = parse_bus_id(bus_id);
    for (int candidate = 0; candidate < driver.device_count(); ++candidate) {
      if (driver.device(candidate)->config().pci_bus != bus) continue;
      *ordinal = candidate;
      return CudaResult::Success;
    }
    return CudaResult::InvalidDevice;
  });
}

CudaResult cuDeviceComputeCapability(int* major, int* minor, CudaDevice ordinal) {
  return with_device(ordinal, [&](Driver&, Device&) {
    if (major == nullptr || minor == nullptr) return CudaResult::InvalidValue;
    *major = 8;
    *minor = 0;
    return CudaResult::Success;
  });
}

CudaResult cuDeviceCanAccessPeer(int* can_access, CudaDevice ordinal, CudaDevice peer) {
  return with_device(ordinal, [&](Driver& driver, Device&) {
    if (driver.device(peer) == nullptr) return CudaResult::InvalidDevice;
    if (can_access == nullptr) return CudaResult::InvalidValue;
    *can_access = 0;
    return CudaResult::Success;
  });
}

}  // extern "C"

}  // namespace berth::emu
