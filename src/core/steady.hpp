// What of a GPU's figures is worth an input: a probe tells the engine little, and never too little
// memory.
//
// Live and simulated probes tell by these rules; doc/gpu.md argues them.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/units.hpp"
#include "core/input.hpp"

namespace berth {

/// Figures are multiples of this, so that few changes are worth an input.
inline constexpr Bytes kProbeStep{std::int64_t{64} << 20};

/// The step of utilisation figures, in percent.
inline constexpr std::int16_t kBusyStep = 25;

/// `seen` has exact figures, `told` is the last input of this GPU, if any. Memory is rounded up,
/// not past the end of the GPU unless it is; a figure that was told stands while it covers what is
/// seen and is at most a step too high. A utilisation that was told stands until it is off by more
/// than a step. Returns: what to tell; nothing if that equals the last. O(tenants^2).
std::optional<Measured> steadied(const Measured& seen, const Measured* told, Bytes capacity);

}  // namespace berth
