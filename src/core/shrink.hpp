// Charges that follow use: what a job is charged once it has shown what it holds, where its user
// allows that to be less than was asked for.
#pragma once

#include <algorithm>

#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "core/steady.hpp"

namespace berth {

struct ShrinkRule {
  Duration warm_up = minutes(10);  ///< From its start until what it held most counts.
  std::int64_t margin_percent = 10;
  Bytes least_margin = Bytes(std::int64_t{512} << 20);

  bool operator==(const ShrinkRule&) const = default;
};

/// The charge of a tenant that held at most `peak`, contexts included: with a margin above it, in
/// whole steps of a probe, so that a measurement within the margin is never above the charge.
constexpr Bytes shrunk_charge(Bytes peak, const ShrinkRule& rule) {
  const Bytes margin = std::max(rule.least_margin, Bytes(peak.raw() / 100 * rule.margin_percent));
  const std::int64_t step = kProbeStep.raw();
  return Bytes((peak + margin + kProbeStep - Bytes(1)).raw() / step * step);
}

}  // namespace berth
