// How much memory berth-load wants at a moment. Pure functions.
#pragma once

#include <cstdint>

#include "emu/load/options.hpp"

namespace berth::emu {

/// Bytes held for good `elapsed` after the start: the ramp and the growth.
std::uint64_t steady_bytes(const LoadOptions& options, std::uint64_t elapsed_nanoseconds);

/// Bytes that the curve wants when so much of the steps is done, counted as on a GPU of its own; 0
/// without a curve. Before its first point it is as there, after its last one likewise.
std::uint64_t curve_bytes(const LoadOptions& options, std::uint64_t done_nanoseconds);

/// Whether the spike is on: in the last fifth of every period.
bool is_spiking(const LoadOptions& options, std::uint64_t elapsed_nanoseconds);

}  // namespace berth::emu
