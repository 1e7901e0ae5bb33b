// NVML functions the emulated card does not support. They exist, so that a program that looks them
// up gets NVML's own answer, and are one function: the answer needs no argument.
#include "emu/nvml/abi.hpp"

namespace berth::emu {

extern "C" {

NvmlResult nvmlBerthNotSupported() { return NvmlResult::NotSupported; }

// MIG.
NvmlResult nvmlDeviceSetMigMode() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlGpuInstanceGetComputeInstanceProfileInfoV()
    __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlGpuInstanceGetComputeInstanceRemainingCapacity()
    __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlGpuInstanceGetComputeInstanceById() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlComputeInstanceGetInfo_v2() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetAttributes_v2() __attribute__((alias("nvmlBerthNotSupported")));

NvmlResult nvmlDeviceClearAccountingPids() __attribute__((alias("nvmlBerthNotSupported")));

// Settings.
NvmlResult nvmlDeviceSetComputeMode() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceSetPersistenceMode() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceSetPowerManagementLimit() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceSetGpuLockedClocks() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceResetGpuLockedClocks() __attribute__((alias("nvmlBerthNotSupported")));

// Links and memory nodes.
NvmlResult nvmlDeviceGetNvLinkVersion() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetNvLinkCapability() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetMemoryAffinity() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetNumaNodeId() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlSystemGetTopologyGpuSet() __attribute__((alias("nvmlBerthNotSupported")));

// Sensors and inventory the emulated card does not have.
NvmlResult nvmlDeviceGetSerial() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetHandleBySerial() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetBoardId() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetVbiosVersion() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetEccMode() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetTotalEccErrors() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetMemoryErrorCounter() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetRemappedRows() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetRetiredPages() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetRetiredPagesPendingStatus() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetFanSpeed() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetFieldValues() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetSamples() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetEncoderUtilization() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetDecoderUtilization() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetPcieThroughput() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetCurrPcieLinkGeneration() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetCurrPcieLinkWidth() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetMaxPcieLinkGeneration() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetMaxPcieLinkWidth() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetCurrentClocksThrottleReasons()
    __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetCurrentClocksEventReasons() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetDisplayMode() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetDisplayActive() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetProcessesUtilizationInfo() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetRunningProcessDetailList() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlGpmQueryDeviceSupport() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlGpmSampleGet() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlGpmMetricsGet() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetGpuFabricInfo() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetGpuFabricInfoV() __attribute__((alias("nvmlBerthNotSupported")));
NvmlResult nvmlDeviceGetVirtualizationMode() __attribute__((alias("nvmlBerthNotSupported")));

}  // extern "C"

}  // namespace berth::emu
