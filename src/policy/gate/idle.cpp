// A GPU is shared only while its tenants leave enough of it idle.
#include <algorithm>
#include <array>
#include <utility>

#include "policy/gates.hpp"
#include "policy/pipeline/gate.hpp"

namespace berth {

constexpr auto kIdleKeys = std::to_array<Key>({kShareBelowKey, kShareAfterKey});

constexpr About kIdle{
    .title = "Sharing when idle enough: a job does not join a busy GPU until it has waited.",
    .rule =
        "A job that has waited less than `share_after` joins no tenants on a GPU with utilisation "
        ">= `share_below_percent`, and none beside which it, or they, are known to run at less "
        "than `share_below_percent` of full speed. GPUs of the second kind are chosen last.",
    .reads = "Utilisation of GPUs, time waited, speeds of pairs that were measured.",
    .source = "berth's own, for `headroom`; CARMA and Gandiva share by utilisation likewise.",
    .differs = "Nothing known.",
    .cost =
        "O(running) per place that is sought, where speeds of pairs are known; else O(GPUs asked).",
    .proof = "None yet.",
    .keys = kIdleKeys};

namespace {

class Idle final : public Gate {
 public:
  explicit Idle(const Keys& keys)
      : after_(keys.time(kShareAfterKey.name)), below_percent_(keys.number(kShareBelowKey.name)) {}

  /// GPUs with a tenant beside which this job, or which beside it, is known to run too slowly.
  std::vector<GpuId> avoided(JobId job, const ClusterView& view,
                             std::span<const Fresh> started) const override {
    const Company& company = view.company();
    const Fingerprint what = company.of(job);
    if (after_ == Duration::zero() || !company.knows_pairs() || what == Fingerprint(0)) return {};
    std::vector<GpuId> slow;
    const auto judge = [&](JobId tenant, const Grant& grant) {
      const Fingerprint other = company.of(tenant);
      const std::int64_t rate =
          std::min(company.rate_ppm(what, other), company.rate_ppm(other, what));
      if (rate >= below_percent_ * 10'000) return;
      for (const Share& share : grant.shares) slow.push_back(share.gpu);
    };
    for (const JobId tenant : view.running()) judge(tenant, view.job(tenant).grant());
    for (const Fresh& fresh : started) judge(fresh.job, fresh.grant);
    return slow;
  }

  Duration wait(const JobView& job, const Placement& place, const Trial& trial) const override {
    const Duration left = after_ - job.waited();
    if (left <= Duration::zero()) return Duration::zero();
    const bool joins = std::ranges::any_of(place.gpus, [&](GpuId gpu) {
      const GpuUse& use = trial.use().gpu(gpu);
      return use.tenants > 0 && (use.utilisation >= below_percent_ || trial.is_avoided(gpu));
    });
    return joins ? left : Duration::zero();
  }

 private:
  Duration after_;
  std::int64_t below_percent_;
};

}  // namespace

std::unique_ptr<const Gate> idle(const Keys& keys) { return std::make_unique<Idle>(keys); }

}  // namespace berth
