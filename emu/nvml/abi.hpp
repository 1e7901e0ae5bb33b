// The part of NVML's binary interface the emulator answers: result codes, constants and structures,
// declared here because no NVIDIA header is needed to build. test/emu/abi_test.cpp pins the
// layouts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::emu {

enum class NvmlResult : int {
  Success = 0,
  Uninitialized = 1,
  InvalidArgument = 2,
  NotSupported = 3,
  NoPermission = 4,
  AlreadyInitialized = 5,
  NotFound = 6,
  InsufficientSize = 7,
  InsufficientPower = 8,
  DriverNotLoaded = 9,
  Timeout = 10,
  IrqIssue = 11,
  LibraryNotFound = 12,
  FunctionNotFound = 13,
  CorruptedInforom = 14,
  GpuIsLost = 15,
  ResetRequired = 16,
  OperatingSystem = 17,
  LibraryVersionMismatch = 18,
  InUse = 19,
  Memory = 20,
  NoData = 21,
  InsufficientResources = 23,
  ArgumentVersionMismatch = 25,
  Unknown = 999,
};

struct NvmlDeviceHandle;  // opaque to callers
using NvmlDevice = NvmlDeviceHandle*;
struct NvmlEventSetHandle;
using NvmlEventSet = NvmlEventSetHandle*;

struct NvmlMemory {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};

struct NvmlMemoryV2 {
  std::uint32_t version;
  std::uint64_t total;
  std::uint64_t reserved;
  std::uint64_t free;
  std::uint64_t used;
};

/// NVML tags versioned structures with their size and the version above it.
inline constexpr std::uint32_t kNvmlMemoryV2Tag = sizeof(NvmlMemoryV2) | (2U << 24);

struct NvmlPciInfo {
  char bus_id_legacy[16];
  std::uint32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
  std::uint32_t pci_device_id;
  std::uint32_t pci_subsystem_id;
  char bus_id[32];
};

struct NvmlUtilization {
  std::uint32_t gpu;
  std::uint32_t memory;
};

struct NvmlProcessInfoV1 {
  std::uint32_t pid;
  std::uint64_t used_gpu_memory;
};

/// The entry of the _v2 and _v3 process lists.
struct NvmlProcessInfo {
  std::uint32_t pid;
  std::uint64_t used_gpu_memory;
  std::uint32_t gpu_instance_id;
  std::uint32_t compute_instance_id;
};

struct NvmlProcessUtilizationSample {
  std::uint32_t pid;
  std::uint64_t time_stamp;  // microseconds
  std::uint32_t sm_util;
  std::uint32_t mem_util;
  std::uint32_t enc_util;
  std::uint32_t dec_util;
};

/// What event waits before _v2 fill.
struct NvmlEventDataV1 {
  NvmlDevice device;
  std::uint64_t event_type;
  std::uint64_t event_data;
};

struct NvmlEventData {
  NvmlDevice device;
  std::uint64_t event_type;
  std::uint64_t event_data;
  std::uint32_t gpu_instance_id;
  std::uint32_t compute_instance_id;
};

struct NvmlBar1Memory {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};

/// Of drivers from r615 on. By NVIDIA's pages and by readers of its header; not compared with the
/// header itself. The limits are bytes.
struct NvmlSetMemoryLimits {
  const char* name_space;  // folder of a cgroup v2
  unsigned long long soft_limit;
  unsigned long long hard_limit;
};
struct NvmlGetMemoryLimits {
  const char* name_space;
  unsigned long long soft_limit;
  unsigned long long hard_limit;
  unsigned long long current_used;
};
inline constexpr unsigned long long kNvmlMemoryLimitMax = ~0ULL;  // "as much as there is"
inline constexpr std::uint64_t kFirstWithLimits = 615;

struct NvmlAccountingStats {
  std::uint32_t gpu_utilization;
  std::uint32_t memory_utilization;
  unsigned long long max_memory_usage;
  unsigned long long time;        // milliseconds
  unsigned long long start_time;  // microseconds since 1970
  std::uint32_t is_running;
  std::uint32_t reserved[5];
};

inline constexpr std::uint32_t kNvmlNoInstance = 0xffffffff;  // MIG ids where MIG is off
inline constexpr std::uint64_t kNvmlEventXid = 0x8;

// Of MIG, as nvml.h of API version 13 has them.

struct NvmlGpuInstanceHandle;
using NvmlGpuInstance = NvmlGpuInstanceHandle*;
struct NvmlComputeInstanceHandle;
using NvmlComputeInstance = NvmlComputeInstanceHandle*;

struct NvmlPlacement {
  std::uint32_t start;
  std::uint32_t size;
};

struct NvmlGpuInstanceProfile {
  std::uint32_t id;
  std::uint32_t is_p2p_supported;
  std::uint32_t slice_count;
  std::uint32_t instance_count;
  std::uint32_t multiprocessor_count;
  std::uint32_t copy_engine_count;
  std::uint32_t decoder_count;
  std::uint32_t encoder_count;
  std::uint32_t jpeg_count;
  std::uint32_t ofa_count;
  unsigned long long memory_mebibytes;
};

struct NvmlGpuInstanceProfileV2 {
  std::uint32_t version;
  std::uint32_t id;
  std::uint32_t is_p2p_supported;
  std::uint32_t slice_count;
  std::uint32_t instance_count;
  std::uint32_t multiprocessor_count;
  std::uint32_t copy_engine_count;
  std::uint32_t decoder_count;
  std::uint32_t encoder_count;
  std::uint32_t jpeg_count;
  std::uint32_t ofa_count;
  unsigned long long memory_mebibytes;
  char name[96];
};
inline constexpr std::uint32_t kNvmlProfileV2Tag = sizeof(NvmlGpuInstanceProfileV2) | (2U << 24);

struct NvmlGpuInstanceInfo {
  NvmlDevice device;
  std::uint32_t id;
  std::uint32_t profile_id;
  NvmlPlacement placement;
};

struct NvmlComputeInstanceProfile {
  std::uint32_t id;
  std::uint32_t slice_count;
  std::uint32_t instance_count;
  std::uint32_t multiprocessor_count;
  std::uint32_t shared_copy_engine_count;
  std::uint32_t shared_decoder_count;
  std::uint32_t shared_encoder_count;
  std::uint32_t shared_jpeg_count;
  std::uint32_t shared_ofa_count;
};

inline constexpr std::uint32_t kNvmlProfiles = 0x12;  // NVML_GPU_INSTANCE_PROFILE_COUNT

enum class NvmlTopology : int {
  Internal = 0,
  SingleSwitch = 10,
  MultipleSwitches = 20,
  HostBridge = 30,
  Node = 40,
  System = 50,
};

}  // namespace berth::emu
