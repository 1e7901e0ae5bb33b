#include "core/knowledge/memory_estimate.hpp"

#include <algorithm>
#include <cstdint>

namespace berth {

namespace {

constexpr std::int64_t kStep = std::int64_t{64} << 20;
constexpr std::int64_t kLeastMargin = std::int64_t{512} << 20;

}  // namespace

std::optional<Bytes> memory_from(std::span<const Bytes> peaks) {
  if (peaks.empty()) return std::nullopt;
  const std::int64_t peak = std::ranges::max(peaks).raw();
  const auto runs = static_cast<std::int64_t>(peaks.size());
  const std::int64_t margin = std::max(kLeastMargin, peak / 10 + peak / 10 * 4 / runs);
  return Bytes((peak + margin + kStep - 1) / kStep * kStep);
}

}  // namespace berth
