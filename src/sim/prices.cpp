#include "sim/prices.hpp"

#include "sim/by_type.hpp"
#include "sim/spread.hpp"

namespace berth::sim {

namespace {

constexpr double kMostPrice = 1e6;

}  // namespace

Expected<Prices> parse_prices(std::string_view text) {
  auto prices = parse_by_type<double>(
      text, [](std::string_view number) { return number_up_to(number, kMostPrice); });
  if (prices) return std::move(*prices);
  return fail(ErrorCode::InvalidArgument,
              "--price: '" + std::string(text) +
                  "' is not a price up to 1000000, or TYPE=PRICE with commas, every type once");
}

double cost_of(std::span<const Duration> by_type, const Cluster& cluster, const Prices& prices) {
  double cost = 0;
  for (std::size_t type = 0; type < by_type.size(); ++type) {
    const double* const price = of_type(prices, cluster.type_names()[type]);
    if (price != nullptr) cost += in_seconds(by_type[type]) / 3600 * *price;
  }
  return cost;
}

}  // namespace berth::sim
