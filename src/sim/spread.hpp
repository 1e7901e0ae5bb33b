// How values are spread, and times as figures. Doubles: figures order nothing.
#pragma once

#include <vector>

#include "core/time.hpp"

namespace berth::sim {

struct Spread {
  double mean = 0;
  double median = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
};

/// Percentiles by linear interpolation between closest ranks; all zero for no values.
Spread spread_of(std::vector<double> values);

constexpr double in_seconds(Duration duration) {
  return static_cast<double>(micros(duration)) / 1e6;
}

/// Run times count as so many seconds at least (bounded slowdown).
inline constexpr double kLeastRun = 10;

}  // namespace berth::sim
