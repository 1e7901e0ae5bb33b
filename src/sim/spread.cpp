#include "sim/spread.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

namespace berth::sim {

namespace {

/// Percentiles one after the other, ascending: what is below one is not looked at for the next. A
/// million values are not sorted, because that takes a twentieth of the time of their replay.
class Percentiles {
 public:
  explicit Percentiles(std::vector<double>& values) : values_(values), from_(values.begin()) {}

  double next(double share) {
    const double at = share * static_cast<double>(values_.size() - 1);
    const auto low = values_.begin() + static_cast<std::ptrdiff_t>(std::floor(at));
    std::nth_element(from_, low, values_.end());
    from_ = low;
    if (low + 1 == values_.end()) return *low;
    const double high = *std::min_element(low + 1, values_.end());
    return *low + (high - *low) * (at - std::floor(at));
  }

 private:
  std::vector<double>& values_;
  std::vector<double>::iterator from_;  ///< None before it is larger than one from here on.
};

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
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  Percentiles percentiles(values);
  return {.count = values.size(),
          .mean = sum / static_cast<double>(values.size()),
          .median = percentiles.next(0.5),
          .p90 = percentiles.next(0.9),
          .p95 = percentiles.next(0.95),
          .p99 = percentiles.next(0.99),
          .max = percentiles.next(1)};
}

}  // namespace berth::sim
