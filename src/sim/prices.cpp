#include "sim/prices.hpp"

#include <algorithm>
#include <charconv>

#include "sim/spread.hpp"

namespace berth::sim {

namespace {

constexpr double kMost = 1e6;

}  // namespace

Expected<Prices> parse_prices(std::string_view text) {
  Prices prices;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    const bool named = equals != std::string_view::npos;
    const std::string_view number = named ? part.substr(equals + 1) : part;
    double price = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), price);
    const bool whole = read.ec == std::errc() && read.ptr == number.data() + number.size();
    if (!whole || !(price >= 0 && price <= kMost) || (named && equals == 0)) {
      return fail(ErrorCode::InvalidArgument,
                  "--price: '" + std::string(text) + "' is not a price, or TYPE=PRICE with commas");
    }
    prices[named ? std::string(part.substr(0, equals)) : std::string()] = price;
  }
  return prices;
}

double cost_of(std::span<const Duration> by_type, const Cluster& cluster, const Prices& prices) {
  double cost = 0;
  for (std::size_t type = 0; type < by_type.size(); ++type) {
    auto price = prices.find(cluster.type_names()[type]);
    if (price == prices.end()) price = prices.find("");
    if (price != prices.end()) cost += in_seconds(by_type[type]) / 3600 * price->second;
  }
  return cost;
}

}  // namespace berth::sim
