#include "sim/spread.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
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

std::string to_text(std::optional<double> figure, int decimals) {
  if (!figure) return "-";
  char text[320];  // of the largest number there is
  std::snprintf(text, sizeof text, "%.*f", decimals, *figure);
  return text;
}

nlohmann::ordered_json json_of(std::optional<double> figure) {
  return figure ? nlohmann::ordered_json(*figure) : nlohmann::ordered_json();
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {.count = values.size(),
          .mean = sum / static_cast<double>(values.size()),
          .median = percentile(values, 0.5),
          .p90 = percentile(values, 0.9),
          .p95 = percentile(values, 0.95),
          .p99 = percentile(values, 0.99),
          .max = values.back()};
}

}  // namespace berth::sim
