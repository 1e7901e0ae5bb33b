// The cost of GPU time by type of GPU. Figures only: they change no decision.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/cluster.hpp"

namespace berth::sim {

/// The price of a GPU-hour by type; that of type "" is for all others. Empty: not asked for.
using Prices = std::map<std::string, double>;

/// `2.5`, or `v100=2.48,k80=0.45`. Errors: InvalidArgument naming the text.
Expected<Prices> parse_prices(std::string_view text);

/// Of so much GPU time by type; types without a price cost nothing.
double cost_of(std::span<const Duration> by_type, const Cluster& cluster, const Prices& prices);

}  // namespace berth::sim
