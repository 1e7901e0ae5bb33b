// The driver release whose interface the two libraries present: the state file says which.
#pragma once

#include <cstdint>
#include <string>

namespace berth::emu {

inline constexpr int kCudaVersion = 13000;  // CUDA 13.0, whatever the release

inline std::string driver_version(std::uint64_t release) { return std::to_string(release) + ".00"; }
inline std::string nvml_version(std::uint64_t release) { return "13." + driver_version(release); }

}  // namespace berth::emu
