// Goal: our declarations of NVML are NVML's.
// Method: sizes and offsets of the published headers (x86-64), and of the emulated driver, which
// declares the same interface on its own.
#include "emu/nvml/abi.hpp"

#include <gtest/gtest.h>

#include <cstddef>

#include "gpu/nvml_abi.hpp"

namespace berth::nvml {
namespace {

TEST(NvmlAbi, IsThePublishedOne) {
  EXPECT_EQ(sizeof(MemoryV1), 24U);
  EXPECT_EQ(sizeof(MemoryV2), 40U);
  EXPECT_EQ(offsetof(MemoryV2, total), 8U);
  EXPECT_EQ(offsetof(MemoryV2, used), 32U);
  EXPECT_EQ(kMemoryV2Tag, 0x02000028U);
  EXPECT_EQ(sizeof(Pci), 68U);
  EXPECT_EQ(offsetof(Pci, bus_id), 36U);
  EXPECT_EQ(sizeof(Utilisation), 8U);
  EXPECT_EQ(sizeof(ProcessV1), 16U);
  EXPECT_EQ(sizeof(ProcessV2), 24U);
  EXPECT_EQ(offsetof(ProcessV2, bytes), 8U);
  EXPECT_EQ(sizeof(ProcessUtilisation), 32U);
  EXPECT_EQ(offsetof(ProcessUtilisation, time), 8U);
  EXPECT_EQ(offsetof(ProcessUtilisation, sm), 16U);
  EXPECT_EQ(sizeof(ProcessUtilisationInfo), 40U);
  EXPECT_EQ(offsetof(ProcessUtilisationInfo, pid), 8U);
  EXPECT_EQ(sizeof(ProcessesUtilisationInfo), 24U);
  EXPECT_EQ(kProcessesUtilisationTag, 0x01000018U);
  EXPECT_EQ(sizeof(EventData), 32U);
  EXPECT_EQ(offsetof(EventData, data), 16U);
  EXPECT_EQ(sizeof(SetLimits), 24U);
  EXPECT_EQ(offsetof(SetLimits, hard), 16U);
  EXPECT_EQ(sizeof(GetLimits), 32U);
  EXPECT_EQ(offsetof(GetLimits, used), 24U);
}

TEST(NvmlAbi, IsTheEmulatedOne) {
  EXPECT_EQ(sizeof(MemoryV1), sizeof(emu::NvmlMemory));
  EXPECT_EQ(sizeof(MemoryV2), sizeof(emu::NvmlMemoryV2));
  EXPECT_EQ(kMemoryV2Tag, emu::kNvmlMemoryV2Tag);
  EXPECT_EQ(sizeof(Pci), sizeof(emu::NvmlPciInfo));
  EXPECT_EQ(sizeof(ProcessV1), sizeof(emu::NvmlProcessInfoV1));
  EXPECT_EQ(sizeof(ProcessV2), sizeof(emu::NvmlProcessInfo));
  EXPECT_EQ(sizeof(ProcessUtilisation), sizeof(emu::NvmlProcessUtilizationSample));
  EXPECT_EQ(offsetof(ProcessUtilisation, sm), offsetof(emu::NvmlProcessUtilizationSample, sm_util));
  EXPECT_EQ(sizeof(EventData), sizeof(emu::NvmlEventData));
  EXPECT_EQ(sizeof(SetLimits), sizeof(emu::NvmlSetMemoryLimits));
  EXPECT_EQ(sizeof(GetLimits), sizeof(emu::NvmlGetMemoryLimits));
  EXPECT_EQ(kNoLimit, emu::kNvmlMemoryLimitMax);
  EXPECT_EQ(sizeof(Placement), sizeof(emu::NvmlPlacement));
  EXPECT_EQ(sizeof(GpuInstanceProfileV2), sizeof(emu::NvmlGpuInstanceProfileV2));
  EXPECT_EQ(offsetof(GpuInstanceProfileV2, name), offsetof(emu::NvmlGpuInstanceProfileV2, name));
  EXPECT_EQ(kProfileV2Tag, emu::kNvmlProfileV2Tag);
  EXPECT_EQ(sizeof(ComputeInstanceProfile), sizeof(emu::NvmlComputeInstanceProfile));
  EXPECT_EQ(kEventXid, emu::kNvmlEventXid);
  EXPECT_EQ(static_cast<int>(Result::GpuIsLost), static_cast<int>(emu::NvmlResult::GpuIsLost));
  EXPECT_EQ(static_cast<int>(Result::InsufficientSize),
            static_cast<int>(emu::NvmlResult::InsufficientSize));
  EXPECT_EQ(kMemoryNode, static_cast<int>(emu::NvmlTopology::Node));
}

}  // namespace
}  // namespace berth::nvml
