#include "sim/share/pair_table.hpp"

#include <array>

namespace berth::sim {

namespace {

constexpr auto kPairsOnlyKeys = std::to_array<Key>({{
    .name = "unmeasured",
    .type = KeyType::Percent,
    .usual = "0",
    .least = 0,
    .most = 99,
    .what = "Speed that a job loses to each neighbour beside which it was not measured.",
}});

/// Of the pairs that no table has.
class PairsOnly final : public ShareModel {
 public:
  explicit PairsOnly(const Keys& keys)
      : kept_(Rate::kWhole / 100 * (100 - keys.number("unmeasured"))) {}

  Rate rate(const SharedGpu& gpu) const override {
    Rate rate;
    for (std::size_t others = gpu.tenants.size() - 1; others > 0; --others) rate = rate * kept_;
    return rate;
  }

 private:
  Rate kept_;
};

std::unique_ptr<const ShareModel> pairs_only(const Keys& keys) {
  return std::make_unique<PairsOnly>(keys);
}

}  // namespace

constexpr ShareEntry kPairsOnly{
    .name = "pairs",
    .rule =
        "As its pairs were measured, which a table of `--speeds` must have; a job loses "
        "`unmeasured` percent to each neighbour where one of them was not.",
    .source =
        "The simulators of Gavel (Narayanan et al., OSDI 2020) and Lucid (Hu et al., ASPLOS 2023), "
        "each with its own table.",
    .make = pairs_only,
    .keys = kPairsOnlyKeys,
    .lost = "unmeasured"};

std::optional<Rate> measured_beside(const Speeds& speeds, const SharedGpu& gpu) {
  if (!speeds.has_pairs()) return std::nullopt;
  const trace::TraceJob& asked = gpu.trace.jobs[gpu.who];
  Rate rate;
  for (const std::size_t other : gpu.tenants) {
    if (other == gpu.who) continue;
    const std::string neighbour = Speeds::neighbour_on(gpu.trace.jobs[other].model, gpu.type);
    const auto known = speeds.beside(asked.model, asked.spec.request.gpu.count.raw(), neighbour);
    if (!known) return std::nullopt;
    rate = rate * *known;
  }
  return rate;
}

}  // namespace berth::sim
