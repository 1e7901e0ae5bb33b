// The part of the CUDA driver API's binary interface the emulator answers: result codes, handle
// types and structures, declared here because no NVIDIA header is needed to build.
// test/emu/abi_test.cpp pins the layouts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::emu {

enum class CudaResult : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  Deinitialized = 4,
  DeviceUnavailable = 46,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  InvalidSource = 300,
  FileNotFound = 301,
  OperatingSystem = 304,
  InvalidHandle = 400,
  IllegalState = 401,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  PeerAccessUnsupported = 217,
  PrimaryContextActive = 708,
  ContextIsDestroyed = 709,
  LaunchFailed = 719,
  NotPermitted = 800,
  NotSupported = 801,
  SystemDriverMismatch = 803,
  Unknown = 999,
};

using CudaDevice = int;
using CudaAddress = std::uint64_t;

struct Context;
struct Module;
struct Function;
struct Stream;
struct Event;
struct MemoryPool;

struct CudaUuid {
  char bytes[16];
};

struct CudaLaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  Stream* stream;
  void* attributes;
  unsigned attribute_count;
};

// Arguments of the checkpoint calls: 64 bytes each; what is reserved must be 0.
struct CudaLockArgs {
  unsigned timeout_millis;  // 0: none
  unsigned reserved0;
  std::uint64_t reserved1[7];
};
struct CudaReservedArgs {  // of a checkpoint and of an unlock
  std::uint64_t reserved[8];
};
struct CudaGpuPair {
  CudaUuid old_uuid;
  CudaUuid new_uuid;
};
struct CudaRestoreArgs {  // until CUDA 13.0 all of it was reserved
  const CudaGpuPair* gpu_pairs;
  unsigned gpu_pairs_count;
  char reserved[52];
};

enum class CudaLookup : int { Found = 0, SymbolNotFound = 1, VersionNotSufficient = 2 };

// Ids in the `extra` list of a launch.
inline constexpr std::uintptr_t kLaunchParameterBuffer = 1;
inline constexpr std::uintptr_t kLaunchParameterSize = 2;

// Event flags.
inline constexpr unsigned kEventDisableTiming = 2;

// Stream handles that are not objects.
inline constexpr std::uintptr_t kLegacyStream = 1;
inline constexpr std::uintptr_t kPerThreadStream = 2;

}  // namespace berth::emu
