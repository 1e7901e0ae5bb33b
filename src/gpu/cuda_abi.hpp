// The part of the CUDA driver's binary interface that berth calls, declared here: no NVIDIA header
// is needed to build. Results and arguments of CUDA 12.8, and of 13.0 for GPU pairs.
// test/gpu/nvidia_headers_test.cpp compares it with NVIDIA's where that is at hand.
#pragma once

#include <array>
#include <cstdint>

namespace berth::cuda {

inline constexpr int kOutOfMemory = 2;
inline constexpr int kNotReady = 600;
inline constexpr int kNotPermitted = 800;
inline constexpr int kNotSupported = 801;

struct LockArgs {
  unsigned timeout_millis;
  unsigned reserved0;
  std::uint64_t reserved1[7];
};
struct Uuid {
  std::array<char, 16> bytes;
};
struct GpuPair {
  Uuid before;
  Uuid after;
};
struct RestoreArgs {
  const GpuPair* pairs;
  unsigned count;
  char reserved[52];
};
static_assert(sizeof(LockArgs) == 64 && sizeof(RestoreArgs) == 64 && sizeof(GpuPair) == 32);

}  // namespace berth::cuda
