// The driver release whose interface the two libraries present.
#pragma once

namespace berth::emu {

inline constexpr const char* kDriverVersion = "580.00";
inline constexpr const char* kNvmlVersion = "13.580.00";
inline constexpr int kCudaVersion = 13000;  // CUDA 13.0

}  // namespace berth::emu
