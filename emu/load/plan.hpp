// How much memory berth-load wants at a moment. Pure functions.
#pragma once

#include <cstdint>

#include "emu/load/options.hpp"

namespace berth::emu {

/// Bytes held for good `elapsed` after the start: the ramp and the growth.
std::uint64_t steady_bytes(const LoadOptions& options, std::uint64_t elapsed_nanoseconds);

/// Whether the spike is on: in the last fifth of every period.
bool is_spiking(const LoadOptions& options, std::uint64_t elapsed_nanoseconds);

}  // namespace berth::emu
