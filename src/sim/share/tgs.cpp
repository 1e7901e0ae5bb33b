#include <algorithm>
#include <cstdint>

#include "sim/share/share_model.hpp"
#include "sim/share/tgs_rule.hpp"

namespace berth::sim {

namespace {

constexpr std::int64_t kCapacity = Rate::kWhole;  ///< Blocks a tick, so that a duty is a rate.
constexpr int kUnsettled = 200;                   ///< Ticks that do not count.
constexpr int kTicks = 1'000;

/// What a production job launches: within half a percent of its mean, as in the runs that the
/// controller was compared on. It would profile a rate that never changes for ever.
std::int64_t launched(std::int64_t mean, int tick) {
  constexpr int kSteps = 11;
  return mean * (1'000 + tick * 5 % kSteps - kSteps / 2) / 1'000;
}

/// The mean rates of two jobs under the controller, each alone at its duty, in parts per million.
TgsRates controlled(TgsRates duties) {
  TgsController controller(static_cast<double>(duties.production));
  TgsRates done;
  for (int tick = 0; tick < kTicks; ++tick) {
    const TgsRates asks = {launched(duties.production, tick),
                           std::min(controller.limit(), duties.opportunistic)};
    const TgsRates rates = tgs_share(asks, kCapacity);
    if (tick >= kUnsettled) {
      done.production += rates.production;
      done.opportunistic += rates.opportunistic;
    }
    controller.observe(rates);
  }
  constexpr int kCounted = kTicks - kUnsettled;
  return {done.production / kCounted, done.opportunistic / kCounted};
}

class Tgs final : public ShareModel {
 public:
  bool reads_duties() const override { return true; }

  /// O(tenants + kTicks).
  Rate rate(const SharedGpu& gpu) const override {
    TgsRates duties;
    for (const std::size_t tenant : gpu.tenants) {
      (is_production(gpu, tenant) ? duties.production : duties.opportunistic) +=
          std::max<std::int64_t>(gpu.duties[tenant], 1);
    }
    const bool is_mixed = duties.production > 0 && duties.opportunistic > 0;
    const TgsRates rates = is_mixed ? controlled(duties) : tgs_share(duties, kCapacity);
    return is_production(gpu, gpu.who) ? part(rates.production, duties.production)
                                       : part(rates.opportunistic, duties.opportunistic);
  }

 private:
  static bool is_production(const SharedGpu& gpu, std::size_t tenant) {
    return gpu.trace.jobs[tenant].spec.priority > 0;
  }
  static Rate part(std::int64_t done, std::int64_t alone) {
    return Rate(done * Rate::kWhole / alone);
  }
};

std::unique_ptr<const ShareModel> tgs(const Keys&) { return std::make_unique<Tgs>(); }

}  // namespace

constexpr ShareEntry kTgs{
    .name = "tgs",
    .rule =
        "Production jobs are those with a `priority` above 0, all others are opportunistic. Its "
        "mean "
        "under the controller of TGS, which lets the opportunistic jobs together launch about what "
        "the production jobs together leave. Jobs of one kind share in proportion to their "
        "utilisations, up to the whole GPU.",
    .source =
        "TGS (Wu et al., NSDI 2023), its controller as its code has it, on a GPU that does "
        "kernels in proportion to what is launched; that production kernels vary by 0.5 % is an "
        "assumption.",
    .make = tgs};

}  // namespace berth::sim
