// The driver release whose interface the two libraries present.
#pragma once

namespace berth::emu {

inline constexpr const char* kDriverVersion = "570.00";
inline constexpr const char* kNvmlVersion = "12.570.00";
inline constexpr int kCudaVersion = 12080;  // CUDA 12.8

}  // namespace berth::emu
