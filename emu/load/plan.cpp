#include "emu/load/plan.hpp"

#include <algorithm>

namespace berth::emu {
namespace {

constexpr double kNanos = 1e9;

std::uint64_t ramped(const LoadOptions& options, std::uint64_t elapsed) {
  if (elapsed >= options.ramp_nanoseconds) return options.vram_bytes;
  const auto part = static_cast<double>(elapsed) / static_cast<double>(options.ramp_nanoseconds);
  return static_cast<std::uint64_t>(static_cast<double>(options.vram_bytes) * part);
}

}  // namespace

std::uint64_t steady_bytes(const LoadOptions& options, std::uint64_t elapsed_nanoseconds) {
  const auto grown = static_cast<double>(options.grow_bytes_per_second) *
                     (static_cast<double>(elapsed_nanoseconds) / kNanos);
  return ramped(options, elapsed_nanoseconds) + static_cast<std::uint64_t>(grown);
}

bool is_spiking(const LoadOptions& options, std::uint64_t elapsed_nanoseconds) {
  const auto period = options.spike_nanoseconds;
  return period != 0 && elapsed_nanoseconds % period >= period / 5 * 4;
}

}  // namespace berth::emu
