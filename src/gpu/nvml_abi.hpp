// The part of NVML's binary interface that berth calls, declared here: no NVIDIA header is needed
// to build. test/gpu/abi_test.cpp pins the layouts.
#pragma once

#include <cstdint>

namespace berth::nvml {

/// Results we tell apart; NVML has more.
enum class Result : int {
  Success = 0,
  InvalidArgument = 2,
  NotSupported = 3,
  NoPermission = 4,
  NotFound = 6,
  InsufficientSize = 7,
  Timeout = 10,
  FunctionNotFound = 13,
  GpuIsLost = 15,
  InUse = 19,
  InsufficientResources = 23,
};

struct DeviceHandle;  // opaque
using Handle = DeviceHandle*;
struct EventSetHandle;
using EventSet = EventSetHandle*;

struct MemoryV1 {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};

struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total;
  std::uint64_t reserved;
  std::uint64_t free;
  std::uint64_t used;
};

/// Versioned structures carry their size and, above it, their version.
inline constexpr std::uint32_t kMemoryV2Tag = sizeof(MemoryV2) | (2U << 24);

/// Of _v3; older ones end before `bus_id` or keep four other words there.
struct Pci {
  char bus_id_legacy[16];
  std::uint32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
  std::uint32_t pci_device_id;
  std::uint32_t pci_subsystem_id;
  char bus_id[32];
};

struct Utilisation {
  std::uint32_t gpu;
  std::uint32_t memory;
};

/// What one process did in the driver's last period before `time`, in percent.
struct ProcessUtilisation {
  std::uint32_t pid;
  unsigned long long time;  ///< Microseconds.
  std::uint32_t sm;
  std::uint32_t memory;
  std::uint32_t encoder;
  std::uint32_t decoder;
};

/// The same by the call that later cards answer.
struct ProcessUtilisationInfo {
  unsigned long long time;
  std::uint32_t pid;
  std::uint32_t sm;
  std::uint32_t memory;
  std::uint32_t encoder;
  std::uint32_t decoder;
  std::uint32_t jpeg;
  std::uint32_t optical_flow;
};
struct ProcessesUtilisationInfo {
  std::uint32_t version;
  std::uint32_t count;
  unsigned long long since;
  ProcessUtilisationInfo* list;
};
inline constexpr std::uint32_t kProcessesUtilisationTag =
    sizeof(ProcessesUtilisationInfo) | (1U << 24);

struct ProcessV1 {
  std::uint32_t pid;
  std::uint64_t bytes;
};

/// Of _v2 and _v3.
struct ProcessV2 {
  std::uint32_t pid;
  std::uint64_t bytes;
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
};

/// What the driver remembers of a process, also after its end.
struct AccountingStats {
  std::uint32_t gpu_utilisation;
  std::uint32_t memory_utilisation;
  unsigned long long most_memory;  ///< Bytes; ~0: not available.
  unsigned long long milliseconds;
  unsigned long long started;  ///< Microseconds since 1970.
  std::uint32_t is_running;
  std::uint32_t reserved[5];
};

inline constexpr int kEnabled = 1;  ///< NVML_FEATURE_ENABLED.

/// Of drivers from r615 on. By NVIDIA's pages, and as others give the nvml.h of CUDA 13.4; not
/// compared with the header itself. Sizes are bytes.
struct SetLimits {
  const char* cgroup;  ///< NVIDIA's `nameSpace`: the folder of a cgroup v2.
  unsigned long long soft;
  unsigned long long hard;
};
struct GetLimits {
  const char* cgroup;
  unsigned long long soft;
  unsigned long long hard;
  unsigned long long used;
};
inline constexpr unsigned long long kNoLimit = ~0ULL;  ///< NVML_DEVICE_MEMORY_LIMIT_MAX.

// Of MIG: nvml.h of API version 13.

struct GpuInstanceHandle;
using GpuInstance = GpuInstanceHandle*;
struct ComputeInstanceHandle;
using ComputeInstance = ComputeInstanceHandle*;

struct Placement {
  std::uint32_t start;  ///< In memory slices, as `size`.
  std::uint32_t size;
};

struct GpuInstanceProfileV2 {
  std::uint32_t version;
  std::uint32_t id;
  std::uint32_t is_p2p_supported;
  std::uint32_t slices;
  std::uint32_t instances;
  std::uint32_t multiprocessors;
  std::uint32_t copy_engines;
  std::uint32_t decoders;
  std::uint32_t encoders;
  std::uint32_t jpeg_engines;
  std::uint32_t optical_flow_engines;
  unsigned long long mebibytes;
  char name[96];
};
inline constexpr std::uint32_t kProfileV2Tag = sizeof(GpuInstanceProfileV2) | (2U << 24);

struct ComputeInstanceProfile {
  std::uint32_t id;
  std::uint32_t slices;
  std::uint32_t instances;
  std::uint32_t multiprocessors;
  std::uint32_t shared_copy_engines;
  std::uint32_t shared_decoders;
  std::uint32_t shared_encoders;
  std::uint32_t shared_jpeg_engines;
  std::uint32_t shared_optical_flow_engines;
};

/// Of _v2; what came before is its beginning.
struct EventData {
  Handle device;
  std::uint64_t type;
  std::uint64_t data;
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
};

inline constexpr std::uint64_t kEventXid = 0x8;
inline constexpr std::uint32_t kMigEnabled = 1;

/// Levels of nvmlDeviceGetTopologyCommonAncestor.
inline constexpr int kSameBoard = 0;
inline constexpr int kOneSwitch = 10;
inline constexpr int kSeveralSwitches = 20;
inline constexpr int kHostBridge = 30;
inline constexpr int kMemoryNode = 40;
inline constexpr int kSystem = 50;

/// Answers of nvmlDeviceGetNvLinkRemoteDeviceType.
inline constexpr std::uint32_t kRemoteSwitch = 2;

}  // namespace berth::nvml
