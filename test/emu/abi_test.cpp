// Goal: the structures have the sizes and offsets NVIDIA publishes for 64-bit Linux.
// Method: compile-time checks against numbers, not against our own declarations.
#include "emu/cuda/abi.hpp"

#include <gtest/gtest.h>

#include "emu/nvml/abi.hpp"

namespace berth::emu {

static_assert(sizeof(NvmlResult) == 4);
static_assert(sizeof(NvmlMemory) == 24);
static_assert(offsetof(NvmlMemory, total) == 0 && offsetof(NvmlMemory, free) == 8 &&
              offsetof(NvmlMemory, used) == 16);
static_assert(sizeof(NvmlMemoryV2) == 40);
static_assert(offsetof(NvmlMemoryV2, total) == 8 && offsetof(NvmlMemoryV2, reserved) == 16 &&
              offsetof(NvmlMemoryV2, free) == 24 && offsetof(NvmlMemoryV2, used) == 32);
static_assert(kNvmlMemoryV2Tag == 0x02000028);
static_assert(sizeof(NvmlPciInfo) == 68);
static_assert(offsetof(NvmlPciInfo, domain) == 16 && offsetof(NvmlPciInfo, bus) == 20 &&
              offsetof(NvmlPciInfo, device) == 24 && offsetof(NvmlPciInfo, pci_device_id) == 28 &&
              offsetof(NvmlPciInfo, pci_subsystem_id) == 32 && offsetof(NvmlPciInfo, bus_id) == 36);
static_assert(sizeof(NvmlUtilization) == 8 && offsetof(NvmlUtilization, memory) == 4);
static_assert(sizeof(NvmlProcessInfoV1) == 16);
static_assert(offsetof(NvmlProcessInfoV1, used_gpu_memory) == 8);
static_assert(sizeof(NvmlProcessInfo) == 24);
static_assert(offsetof(NvmlProcessInfo, used_gpu_memory) == 8 &&
              offsetof(NvmlProcessInfo, gpu_instance_id) == 16 &&
              offsetof(NvmlProcessInfo, compute_instance_id) == 20);
static_assert(sizeof(NvmlProcessUtilizationSample) == 32);
static_assert(offsetof(NvmlProcessUtilizationSample, time_stamp) == 8 &&
              offsetof(NvmlProcessUtilizationSample, sm_util) == 16);
static_assert(sizeof(NvmlEventDataV1) == 24);
static_assert(sizeof(NvmlEventData) == 32);
static_assert(offsetof(NvmlEventData, event_type) == 8 &&
              offsetof(NvmlEventData, event_data) == 16 &&
              offsetof(NvmlEventData, gpu_instance_id) == 24);
static_assert(sizeof(NvmlBar1Memory) == 24);
static_assert(sizeof(NvmlSetMemoryLimits) == 24 && offsetof(NvmlSetMemoryLimits, soft_limit) == 8 &&
              offsetof(NvmlSetMemoryLimits, hard_limit) == 16);
static_assert(sizeof(NvmlGetMemoryLimits) == 32 &&
              offsetof(NvmlGetMemoryLimits, current_used) == 24);

static_assert(sizeof(CudaResult) == 4);
static_assert(sizeof(CudaDevice) == 4 && sizeof(CudaAddress) == 8);
static_assert(sizeof(CudaUuid) == 16);
static_assert(sizeof(CudaLaunchConfig) == 56);
static_assert(offsetof(CudaLaunchConfig, shared_bytes) == 24 &&
              offsetof(CudaLaunchConfig, stream) == 32 &&
              offsetof(CudaLaunchConfig, attributes) == 40 &&
              offsetof(CudaLaunchConfig, attribute_count) == 48);

static_assert(sizeof(CudaLockArgs) == 64 && offsetof(CudaLockArgs, reserved0) == 4 &&
              offsetof(CudaLockArgs, reserved1) == 8);
static_assert(sizeof(CudaReservedArgs) == 64);
static_assert(sizeof(CudaGpuPair) == 32 && offsetof(CudaGpuPair, new_uuid) == 16);
static_assert(sizeof(CudaRestoreArgs) == 64 && offsetof(CudaRestoreArgs, gpu_pairs_count) == 8 &&
              offsetof(CudaRestoreArgs, reserved) == 12);

// MIG, as the compiler lays out NVIDIA's nvml.h of API version 13.
static_assert(sizeof(NvmlPlacement) == 8);
static_assert(sizeof(NvmlGpuInstanceProfile) == 48 &&
              offsetof(NvmlGpuInstanceProfile, memory_mebibytes) == 40);
static_assert(sizeof(NvmlGpuInstanceProfileV2) == 152 && kNvmlProfileV2Tag == 0x2000098 &&
              offsetof(NvmlGpuInstanceProfileV2, memory_mebibytes) == 48 &&
              offsetof(NvmlGpuInstanceProfileV2, name) == 56);
static_assert(sizeof(NvmlGpuInstanceInfo) == 24 && offsetof(NvmlGpuInstanceInfo, placement) == 16);
static_assert(sizeof(NvmlComputeInstanceProfile) == 36 &&
              offsetof(NvmlComputeInstanceProfile, multiprocessor_count) == 12);
static_assert(static_cast<int>(NvmlResult::InUse) == 19 &&
              static_cast<int>(NvmlResult::InsufficientResources) == 23 && kNvmlProfiles == 18);

TEST(Abi, IsCheckedWhenCompiled) { SUCCEED(); }

}  // namespace berth::emu
