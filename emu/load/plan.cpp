#include "emu/load/plan.hpp"

#include <algorithm>
#include <iterator>

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

std::uint64_t curve_bytes(const LoadOptions& options, std::uint64_t done_nanoseconds) {
  const auto& curve = options.curve;
  if (curve.empty()) return 0;
  const auto next = std::ranges::upper_bound(curve, done_nanoseconds, {}, &CurvePoint::nanoseconds);
  if (next == curve.begin()) return curve.front().bytes;
  if (next == curve.end()) return curve.back().bytes;
  const auto& before = *std::prev(next);
  const auto part = static_cast<double>(done_nanoseconds - before.nanoseconds) /
                    static_cast<double>(next->nanoseconds - before.nanoseconds);
  const auto from = static_cast<double>(before.bytes);
  return static_cast<std::uint64_t>(from + (static_cast<double>(next->bytes) - from) * part);
}

bool is_spiking(const LoadOptions& options, std::uint64_t elapsed_nanoseconds) {
  const auto period = options.spike_nanoseconds;
  return period != 0 && elapsed_nanoseconds % period >= period / 5 * 4;
}

}  // namespace berth::emu
