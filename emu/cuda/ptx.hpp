// Just enough PTX to load a module: which kernels it has and what they take. Pure functions.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "emu/cuda/abi.hpp"

namespace berth::emu {

struct PtxEntry {
  std::string name;
  std::vector<std::size_t> parameter_bytes;
};

/// The kernels of a module in PTX text. InvalidImage: not PTX; InvalidPtx: PTX, but broken.
std::expected<std::vector<PtxEntry>, CudaResult> parse_ptx(std::string_view text);

/// True for what the driver also loads but the emulator cannot: ELF (cubin) and fat binaries.
bool is_binary_image(const void* image);

}  // namespace berth::emu
