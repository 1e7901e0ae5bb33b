// What GPU time costs, by type of GPU. Figures only: they decide nothing.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster.hpp"
#include "core/error.hpp"
#include "core/time.hpp"

namespace berth::sim {

/// Of an hour of a GPU, by type; that of type "" is for all others. Empty: nobody asked.
using Prices = std::map<std::string, double>;

/// `2.5`, or `v100=2.48,k80=0.45`. Errors: InvalidArgument naming the text.
Expected<Prices> parse_prices(std::string_view text);

/// Of so much GPU time by type; types without a price cost nothing.
double cost_of(std::span<const Duration> by_type, const Cluster& cluster, const Prices& prices);

}  // namespace berth::sim
