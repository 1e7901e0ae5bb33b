#include "sim/share/duty.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/wide.hpp"
#include "sim/share/share_model.hpp"

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

constexpr auto kDutyKeys = std::to_array<Key>({{
    .name = "interference",
    .type = KeyType::Percent,
    .usual = "0",
    .least = 0,
    .most = 100,
    .what = "What each further kernel on a GPU costs: k get 1 / (1 + (k - 1) x this) of its work "
            "done.",
}});

/// O(tenants^2).
class Duty final : public ShareModel {
 public:
  explicit Duty(const Keys& keys)
      : interference_(Rate::kWhole / 100 * keys.number("interference")) {}

  bool reads_duties() const override { return true; }

  Rate rate(const SharedGpu& gpu) const override {
    return rate_beside(gpu.duties[gpu.who], others_of(gpu), interference_);
  }
  std::int64_t kernel_cost(const SharedGpu& gpu) const override {
    return interference_ == 0 ? Rate::kWhole : kernel_cost_beside(others_of(gpu), interference_);
  }

 private:
  static std::vector<std::int64_t> others_of(const SharedGpu& gpu) {
    std::vector<std::int64_t> others;
    for (const std::size_t tenant : gpu.tenants) {
      if (tenant != gpu.who) others.push_back(gpu.duties[tenant]);
    }
    return others;
  }

  std::int64_t interference_;
};

std::unique_ptr<const ShareModel> by_duty(const Keys& keys) { return std::make_unique<Duty>(keys); }

}  // namespace

constexpr ShareEntry kDuty{
    .name = "duty",
    .rule =
        "Of jobs that alternate between kernels on the GPU and work on the host, and whose kernels "
        "share the GPU equally; with `interference`, k concurrent kernels together get 1 / (1 + "
        "(k - 1) x `interference`) of the GPU's throughput.",
    .source =
        "A closed queueing network (Baskett, Chandy, Muntz, Palacios, JACM 1975); the loss by "
        "further kernels is berth's own.",
    .make = by_duty,
    .keys = kDutyKeys,
    .lost = "interference"};

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
