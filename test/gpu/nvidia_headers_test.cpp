// Goal: our declarations of NVML and CUDA are NVIDIA's.
// Method: its headers, where they are at hand (CMakeLists.txt looks for them, also in the folder
// that BERTH_NVIDIA_HEADERS names): sizes, places of members and values are compared. Ours are the
// driver's part (src/gpu) and the emulator's (emu), which declares the same interface on its own.
#include <gtest/gtest.h>

#ifdef BERTH_NVML_HEADER
#include <nvml.h>
#endif
#ifdef BERTH_CUDA_HEADER
#include <cuda.h>
#endif

#include <cstddef>

#include "emu/cuda/abi.hpp"
#include "emu/nvml/abi.hpp"
#include "gpu/cuda_abi.hpp"
#include "gpu/nvml_abi.hpp"

namespace berth {
namespace {

constexpr const char* kHint =
    " was not there when this was built; BERTH_NVIDIA_HEADERS names its folder";

template <class Whole, class Member>
std::size_t place_of(Member Whole::* member) {
  const Whole whole{};
  return static_cast<std::size_t>(reinterpret_cast<const char*>(&(whole.*member)) -
                                  reinterpret_cast<const char*>(&whole));
}

/// Two members are at the same place and of the same size.
template <class Ours, class OurMember, class Theirs, class TheirMember>
void expect_same(OurMember Ours::* ours, TheirMember Theirs::* theirs) {
  EXPECT_EQ(place_of(ours), place_of(theirs));
  EXPECT_EQ(sizeof(OurMember), sizeof(TheirMember));
}

TEST(NvidiaHeaders, NvmlsMeasurementsAreOurs) {
#ifndef BERTH_NVML_HEADER
  GTEST_SKIP() << "nvml.h" << kHint;
#else
  EXPECT_EQ(sizeof(nvml::MemoryV1), sizeof(nvmlMemory_t));
  expect_same(&nvml::MemoryV1::used, &nvmlMemory_t::used);
  EXPECT_EQ(sizeof(nvml::MemoryV2), sizeof(nvmlMemory_v2_t));
  expect_same(&nvml::MemoryV2::total, &nvmlMemory_v2_t::total);
  expect_same(&nvml::MemoryV2::reserved, &nvmlMemory_v2_t::reserved);
  expect_same(&nvml::MemoryV2::free, &nvmlMemory_v2_t::free);
  expect_same(&nvml::MemoryV2::used, &nvmlMemory_v2_t::used);
  EXPECT_EQ(nvml::kMemoryV2Tag, nvmlMemory_v2);
  EXPECT_EQ(sizeof(nvml::Pci), sizeof(nvmlPciInfo_t));
  expect_same(&nvml::Pci::domain, &nvmlPciInfo_t::domain);
  expect_same(&nvml::Pci::bus, &nvmlPciInfo_t::bus);
  expect_same(&nvml::Pci::device, &nvmlPciInfo_t::device);
  expect_same(&nvml::Pci::bus_id, &nvmlPciInfo_t::busId);
  EXPECT_EQ(sizeof(nvml::Utilisation), sizeof(nvmlUtilization_t));
  expect_same(&nvml::Utilisation::gpu, &nvmlUtilization_t::gpu);
  EXPECT_EQ(sizeof(nvml::ProcessV1), sizeof(nvmlProcessInfo_v1_t));
  expect_same(&nvml::ProcessV1::bytes, &nvmlProcessInfo_v1_t::usedGpuMemory);
  EXPECT_EQ(sizeof(nvml::ProcessV2), sizeof(nvmlProcessInfo_v2_t));
  expect_same(&nvml::ProcessV2::bytes, &nvmlProcessInfo_v2_t::usedGpuMemory);
  expect_same(&nvml::ProcessV2::gpu_instance, &nvmlProcessInfo_v2_t::gpuInstanceId);
  expect_same(&nvml::ProcessV2::compute_instance, &nvmlProcessInfo_v2_t::computeInstanceId);
  EXPECT_EQ(sizeof(nvml::AccountingStats), sizeof(nvmlAccountingStats_t));
  expect_same(&nvml::AccountingStats::most_memory, &nvmlAccountingStats_t::maxMemoryUsage);
  expect_same(&nvml::AccountingStats::milliseconds, &nvmlAccountingStats_t::time);
  expect_same(&nvml::AccountingStats::started, &nvmlAccountingStats_t::startTime);
  expect_same(&nvml::AccountingStats::is_running, &nvmlAccountingStats_t::isRunning);
  EXPECT_EQ(nvml::kEnabled, NVML_FEATURE_ENABLED);
  EXPECT_EQ(sizeof(emu::NvmlAccountingStats), sizeof(nvmlAccountingStats_t));
  expect_same(&emu::NvmlAccountingStats::max_memory_usage, &nvmlAccountingStats_t::maxMemoryUsage);
  EXPECT_EQ(sizeof(emu::NvmlBar1Memory), sizeof(nvmlBAR1Memory_t));
  EXPECT_EQ(sizeof(emu::NvmlProcessUtilizationSample), sizeof(nvmlProcessUtilizationSample_t));
  expect_same(&emu::NvmlProcessUtilizationSample::sm_util, &nvmlProcessUtilizationSample_t::smUtil);
  EXPECT_EQ(sizeof(nvml::ProcessUtilisation), sizeof(nvmlProcessUtilizationSample_t));
  expect_same(&nvml::ProcessUtilisation::sm, &nvmlProcessUtilizationSample_t::smUtil);
  EXPECT_EQ(sizeof(nvml::ProcessUtilisationInfo), sizeof(nvmlProcessUtilizationInfo_v1_t));
  expect_same(&nvml::ProcessUtilisationInfo::sm, &nvmlProcessUtilizationInfo_v1_t::smUtil);
  EXPECT_EQ(sizeof(nvml::ProcessesUtilisationInfo), sizeof(nvmlProcessesUtilizationInfo_v1_t));
#endif
}

TEST(NvidiaHeaders, NvmlsEventsAndInstancesAreOurs) {
#ifndef BERTH_NVML_HEADER
  GTEST_SKIP() << "nvml.h" << kHint;
#else
  EXPECT_EQ(sizeof(nvml::EventData), sizeof(nvmlEventData_t));
  expect_same(&nvml::EventData::device, &nvmlEventData_t::device);
  expect_same(&nvml::EventData::type, &nvmlEventData_t::eventType);
  expect_same(&nvml::EventData::data, &nvmlEventData_t::eventData);
  expect_same(&nvml::EventData::gpu_instance, &nvmlEventData_t::gpuInstanceId);
  EXPECT_EQ(nvml::kEventXid, static_cast<std::uint64_t>(nvmlEventTypeXidCriticalError));
  EXPECT_EQ(sizeof(nvml::Placement), sizeof(nvmlGpuInstancePlacement_t));
  expect_same(&nvml::Placement::size, &nvmlGpuInstancePlacement_t::size);
  EXPECT_EQ(sizeof(nvml::GpuInstanceProfileV2), sizeof(nvmlGpuInstanceProfileInfo_v2_t));
  expect_same(&nvml::GpuInstanceProfileV2::id, &nvmlGpuInstanceProfileInfo_v2_t::id);
  expect_same(&nvml::GpuInstanceProfileV2::slices, &nvmlGpuInstanceProfileInfo_v2_t::sliceCount);
  expect_same(&nvml::GpuInstanceProfileV2::mebibytes,
              &nvmlGpuInstanceProfileInfo_v2_t::memorySizeMB);
  expect_same(&nvml::GpuInstanceProfileV2::name, &nvmlGpuInstanceProfileInfo_v2_t::name);
  EXPECT_EQ(nvml::kProfileV2Tag, nvmlGpuInstanceProfileInfo_v2);
  EXPECT_EQ(sizeof(nvml::ComputeInstanceProfile), sizeof(nvmlComputeInstanceProfileInfo_t));
  expect_same(&nvml::ComputeInstanceProfile::slices, &nvmlComputeInstanceProfileInfo_t::sliceCount);
  EXPECT_EQ(nvml::kMigEnabled, static_cast<std::uint32_t>(NVML_DEVICE_MIG_ENABLE));
  EXPECT_EQ(emu::kNvmlProfiles, static_cast<std::uint32_t>(NVML_GPU_INSTANCE_PROFILE_COUNT))
      << "a newer header may know more profiles";
#endif
}

TEST(NvidiaHeaders, NvmlsNumbersAreOurs) {
#ifndef BERTH_NVML_HEADER
  GTEST_SKIP() << "nvml.h" << kHint;
#else
  EXPECT_EQ(static_cast<int>(nvml::Result::InvalidArgument), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(static_cast<int>(nvml::Result::NotSupported), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(static_cast<int>(nvml::Result::NoPermission), NVML_ERROR_NO_PERMISSION);
  EXPECT_EQ(static_cast<int>(nvml::Result::NotFound), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(static_cast<int>(nvml::Result::InsufficientSize), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(static_cast<int>(nvml::Result::Timeout), NVML_ERROR_TIMEOUT);
  EXPECT_EQ(static_cast<int>(nvml::Result::FunctionNotFound), NVML_ERROR_FUNCTION_NOT_FOUND);
  EXPECT_EQ(static_cast<int>(nvml::Result::GpuIsLost), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(static_cast<int>(nvml::Result::InUse), NVML_ERROR_IN_USE);
  EXPECT_EQ(static_cast<int>(nvml::Result::InsufficientResources),
            NVML_ERROR_INSUFFICIENT_RESOURCES);
  EXPECT_EQ(nvml::kSameBoard, static_cast<int>(NVML_TOPOLOGY_INTERNAL));
  EXPECT_EQ(nvml::kOneSwitch, static_cast<int>(NVML_TOPOLOGY_SINGLE));
  EXPECT_EQ(nvml::kSeveralSwitches, static_cast<int>(NVML_TOPOLOGY_MULTIPLE));
  EXPECT_EQ(nvml::kHostBridge, static_cast<int>(NVML_TOPOLOGY_HOSTBRIDGE));
  EXPECT_EQ(nvml::kMemoryNode, static_cast<int>(NVML_TOPOLOGY_NODE));
  EXPECT_EQ(nvml::kSystem, static_cast<int>(NVML_TOPOLOGY_SYSTEM));
  EXPECT_EQ(nvml::kRemoteSwitch, static_cast<std::uint32_t>(NVML_NVLINK_DEVICE_TYPE_SWITCH));
  EXPECT_EQ(static_cast<int>(emu::NvmlResult::Uninitialized), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(static_cast<int>(emu::NvmlResult::DriverNotLoaded), NVML_ERROR_DRIVER_NOT_LOADED);
  EXPECT_EQ(static_cast<int>(emu::NvmlResult::NoData), NVML_ERROR_NO_DATA);
  EXPECT_EQ(static_cast<int>(emu::NvmlResult::ArgumentVersionMismatch),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
#endif
}

#ifdef NVML_DEVICE_MEMORY_LIMIT_MAX
TEST(NvidiaHeaders, TheDriversMemoryLimitsAreOurs) {
  EXPECT_EQ(sizeof(nvml::SetLimits), sizeof(nvmlSetMemoryLimits_v1_t));
  EXPECT_EQ(sizeof(nvml::GetLimits), sizeof(nvmlGetMemoryLimits_v1_t));
  EXPECT_EQ(nvml::kNoLimit, NVML_DEVICE_MEMORY_LIMIT_MAX);
}
#endif

TEST(NvidiaHeaders, CudasCheckpointsAreOurs) {
#if !defined(BERTH_CUDA_HEADER)
  GTEST_SKIP() << "cuda.h" << kHint;
#elif CUDA_VERSION < 13000
  GTEST_SKIP() << "cuda.h is of CUDA " << CUDA_VERSION << ", and restores on other GPUs of 13000";
#else
  EXPECT_EQ(sizeof(cuda::LockArgs), sizeof(CUcheckpointLockArgs));
  expect_same(&cuda::LockArgs::timeout_millis, &CUcheckpointLockArgs::timeoutMs);
  EXPECT_EQ(sizeof(cuda::GpuPair), sizeof(CUcheckpointGpuPair));
  expect_same(&cuda::GpuPair::after, &CUcheckpointGpuPair::newUuid);
  EXPECT_EQ(sizeof(cuda::RestoreArgs), sizeof(CUcheckpointRestoreArgs));
  expect_same(&cuda::RestoreArgs::pairs, &CUcheckpointRestoreArgs::gpuPairs);
  expect_same(&cuda::RestoreArgs::count, &CUcheckpointRestoreArgs::gpuPairsCount);
  EXPECT_EQ(cuda::kOutOfMemory, static_cast<int>(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_EQ(cuda::kNotReady, static_cast<int>(CUDA_ERROR_NOT_READY));
  EXPECT_EQ(cuda::kNotPermitted, static_cast<int>(CUDA_ERROR_NOT_PERMITTED));
  EXPECT_EQ(cuda::kNotSupported, static_cast<int>(CUDA_ERROR_NOT_SUPPORTED));
  EXPECT_EQ(sizeof(emu::CudaLockArgs), sizeof(CUcheckpointLockArgs));
  EXPECT_EQ(sizeof(emu::CudaReservedArgs), sizeof(CUcheckpointCheckpointArgs));
  EXPECT_EQ(sizeof(emu::CudaReservedArgs), sizeof(CUcheckpointUnlockArgs));
  EXPECT_EQ(sizeof(emu::CudaRestoreArgs), sizeof(CUcheckpointRestoreArgs));
  EXPECT_EQ(sizeof(emu::CudaLaunchConfig), sizeof(CUlaunchConfig));
  expect_same(&emu::CudaLaunchConfig::shared_bytes, &CUlaunchConfig::sharedMemBytes);
  expect_same(&emu::CudaLaunchConfig::attributes, &CUlaunchConfig::attrs);
  EXPECT_EQ(sizeof(emu::CudaUuid), sizeof(CUuuid));
  EXPECT_EQ(static_cast<int>(emu::CudaResult::IllegalAddress),
            static_cast<int>(CUDA_ERROR_ILLEGAL_ADDRESS));
  EXPECT_EQ(static_cast<int>(emu::CudaResult::InvalidPtx),
            static_cast<int>(CUDA_ERROR_INVALID_PTX));
  EXPECT_EQ(emu::kEventDisableTiming, static_cast<unsigned>(CU_EVENT_DISABLE_TIMING));
#endif
}

}  // namespace
}  // namespace berth
