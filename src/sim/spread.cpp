#include "sim/spread.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace berth::sim {

namespace {

double percentile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(at));
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - static_cast<double>(low));
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {.mean = sum / static_cast<double>(values.size()),
          .median = percentile(values, 0.5),
          .p90 = percentile(values, 0.9),
          .p95 = percentile(values, 0.95),
          .p99 = percentile(values, 0.99),
          .max = values.back()};
}

}  // namespace berth::sim
