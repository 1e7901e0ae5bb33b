// The distribution of values, and times as figures. Doubles, because figures order nothing.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/time.hpp"

namespace berth::sim {

struct Spread {
  std::size_t count = 0;  ///< Of values.
  double mean = 0;
  double median = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;

  /// Nothing where there are no values.
  std::optional<double> known(double Spread::* part) const {
    return count > 0 ? std::optional(this->*part) : std::nullopt;
  }
};

/// Percentiles by linear interpolation between closest ranks; all zero for no values.
Spread spread_of(std::vector<double> values);

constexpr double in_seconds(Duration duration) {
  return static_cast<double>(micros(duration)) / 1e6;
}

/// With so many decimals; `-` for nothing.
std::string to_text(std::optional<double> figure, int decimals);
/// `null` for nothing.
nlohmann::ordered_json json_of(std::optional<double> figure);

/// Run times count as so many seconds at least (bounded slowdown).
inline constexpr double kLeastRun = 10;

}  // namespace berth::sim
