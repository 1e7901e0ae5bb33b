#include "sim/duty.hpp"

#include <algorithm>
#include <vector>

#include "core/base/wide.hpp"

namespace berth::sim {

namespace {

constexpr Wide kWhole = Rate::kWhole;
constexpr Wide kMostWeight = Wide{1} << 40;  ///< So that no product below is beyond 128 bits.

/// w(k) / w(k - 1), in parts per million.
Wide growth(std::size_t k, std::int64_t interference) {
  return static_cast<Wide>(k) * (kWhole + static_cast<Wide>(k - 1) * interference);
}

/// w(k) P(K = k) for k from 0 on, times a constant of no importance.
std::vector<Wide> weights_of(std::span<const std::int64_t> duties, std::int64_t interference) {
  std::vector<Wide> weights = {kMostWeight};
  for (const std::int64_t duty : duties) {
    weights.push_back(0);
    for (std::size_t k = weights.size() - 1; k > 0; --k) {
      weights[k] = weights[k] * (kWhole - duty) / kWhole +
                   weights[k - 1] * duty * growth(k, interference) / (kWhole * kWhole);
    }
    weights[0] = weights[0] * (kWhole - duty) / kWhole;
    while (std::ranges::max(weights) > kMostWeight) {
      for (Wide& weight : weights) weight /= 2;
    }
  }
  return weights;
}

}  // namespace

Rate rate_beside(std::int64_t duty, std::span<const std::int64_t> others,
                 std::int64_t interference) {
  const std::vector<Wide> weights = weights_of(others, interference);
  Wide without = 0;
  Wide with = 0;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    without += weights[k];
    with += weights[k] * ((kWhole - duty) * kWhole + duty * growth(k + 1, interference));
  }
  return Rate(static_cast<std::int64_t>(without * kWhole * kWhole * kWhole / with));
}

std::int64_t kernel_cost_beside(std::span<const std::int64_t> others, std::int64_t interference) {
  const std::vector<Wide> weights = weights_of(others, interference);
  Wide all = 0;
  Wide cost = 0;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    all += weights[k];
    cost += weights[k] * (kWhole + static_cast<Wide>(k) * interference);
  }
  return static_cast<std::int64_t>(cost / all);
}

}  // namespace berth::sim
