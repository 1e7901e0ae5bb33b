// A GPU is shared only while its tenants leave enough of it idle.
#include <algorithm>
#include <array>
#include <utility>

#include "core/base/wide.hpp"
#include "policy/gates.hpp"
#include "policy/kit/classes.hpp"
#include "policy/pipeline/gate.hpp"

namespace berth {

constexpr auto kIdleKeys =
    std::to_array<Key>({kShareBelowKey, kSharePatienceKey, kShareAfterKey, kShareUnknownAfterKey});

constexpr About kIdle{
    .title = "Sharing when idle enough: a job does not join a busy GPU until it has waited.",
    .rule =
        "A job that has waited less than `share_patience` x its run time, and less than "
        "`share_after`, joins no tenants on a GPU with utilisation >= `share_below_percent`, and "
        "none beside which it, or they, are known to run at less than `share_below_percent` of "
        "full speed. GPUs of the second kind are chosen last. A GPU on which a job began less than "
        "a minute ago counts as busy: what was measured says nothing of that job. Where n jobs "
        "would be together on a "
        "busy GPU and, n times slower, one of them would be stopped by its time limit, it waits "
        "four times as long (a job without an estimate is taken to run for half of its limit "
        "there). The run time is the estimate, else the time limit, else the bound of the class (a "
        "day for long). A job of class medium without estimate and limit, of which so nothing is "
        "said, waits no longer than `share_unknown_after`, and a job with `--share now` not at "
        "all.",
    .reads =
        "Utilisation of GPUs, time waited, estimate, time limit, class, `--share`, speeds of pairs "
        "that were measured.",
    .source =
        "berth's own, for `headroom`; CARMA and Gandiva share by utilisation likewise. Waiting in "
        "proportion to what joining would cost is the rule for renting or buying (Karlin et al., "
        "Algorithmica 1988).",
    .differs =
        "Nothing known. Behind other backfills than `easy`, a job waits with the first of those "
        "that ask for as much, though its own patience is over.",
    .cost =
        "O(running) per place that is sought, where speeds of pairs are known; else O(GPUs asked).",
    .proof = "None yet.",
    .keys = kIdleKeys};

namespace {

/// A job loads its program and data first, and only then keeps its GPU busy or leaves it idle.
constexpr Duration kSettling = minutes(1);
/// How much longer a job waits where sharing would cost a job its work.
constexpr std::int64_t kLatePatience = 4;

class Idle final : public Gate {
 public:
  explicit Idle(const IdleRule& rule) : rule_(rule) {}

  /// GPUs with a tenant beside which this job, or which beside it, is known to run too slowly.
  std::vector<GpuId> avoided(JobId job, const ClusterView& view,
                             std::span<const Fresh> started) const override {
    const Company& company = view.company();
    const Fingerprint what = company.of(job);
    if (!is_on() || !company.knows_pairs() || what == Fingerprint(0)) return {};
    std::vector<GpuId> slow;
    const auto judge = [&](JobId tenant, const Grant& grant) {
      const Fingerprint other = company.of(tenant);
      const std::int64_t rate =
          std::min(company.rate_ppm(what, other), company.rate_ppm(other, what));
      if (rate >= rule_.below_percent * 10'000) return;
      for (const Share& share : grant.shares) slow.push_back(share.gpu);
    };
    for (const JobId tenant : view.running()) judge(tenant, view.job(tenant).grant());
    for (const Fresh& fresh : started) judge(fresh.job, fresh.grant);
    return slow;
  }

  Duration wait(const JobView& job, const Placement& place, const Trial& trial,
                const ClusterView& view) const override {
    if (!is_on() || job.request().gpu.sharing == Sharing::AtOnce) return Duration::zero();
    Duration busy{0};
    bool is_late = false;
    for (const GpuId gpu : place.gpus) {
      const Duration longer = busy_for(gpu, trial, view);
      if (longer == Duration::zero()) continue;
      busy = std::max(busy, longer);
      const std::int64_t together = trial.use().gpu(gpu).tenants + 1;
      const auto is_stopped = [&](JobId id) { return is_over_limit(view.job(id), together); };
      is_late = is_late || is_over_limit(job, together) ||
                std::ranges::any_of(view.tenants_of(gpu), is_stopped);
    }
    if (busy == Duration::zero()) return busy;
    const Duration patience = patience_of(job, is_late ? kLatePatience : 1);
    return std::min(busy, std::max(patience - job.waited(), Duration::zero()));
  }

  GateWord word(const JobView&, const Placement& place, const Trial& trial,
                const ClusterView& view) const override {
    GateWord word{.percent = static_cast<std::int32_t>(rule_.below_percent)};
    Duration longest = Duration::zero();
    for (const GpuId gpu : place.gpus) {
      const Duration here = busy_for(gpu, trial, view);
      if (here <= longest) continue;
      longest = here;
      word.gpu = gpu;
      word.what = here < kForever ? GateWord::What::Settling
                  : trial.use().gpu(gpu).utilisation >= rule_.below_percent ? GateWord::What::Busy
                                                                            : GateWord::What::Slow;
    }
    return word;
  }

 private:
  /// How long the GPU counts as busy, if nothing more is measured: not at all, until what is
  /// measured is the use of those that are there, or for ever.
  Duration busy_for(GpuId gpu, const Trial& trial, const ClusterView& view) const {
    const GpuUse& use = trial.use().gpu(gpu);
    if (use.tenants == 0) return Duration::zero();
    if (use.utilisation >= rule_.below_percent || trial.is_avoided(gpu)) return kForever;
    if (use.utilisation == kUnknownUtilisation) return Duration::zero();
    const auto tenants = view.tenants_of(gpu);
    if (use.tenants > tenants.size()) return kSettling;  // one began in this pass
    Duration left{0};
    for (const JobId id : tenants)
      left = std::max(left, view.job(id).granted_at() + kSettling - view.now());
    return left;
  }
  bool is_on() const { return rule_.after > Duration::zero() && rule_.patience_milli != 0; }
  /// What a job costs its neighbours, and they it, grows with its run time.
  Duration patience_of(const JobView& job, std::int64_t times) const {
    if (rule_.patience_milli < 0) return rule_.after;
    const Duration run = supposed_run(job, job.duration_class(), rule_.classes);
    const Wide patience = Wide{micros(run)} * rule_.patience_milli * times / 1000;
    const Duration most = is_run_known(job) ? rule_.after : std::min(rule_.after, rule_.unknown);
    return Duration(static_cast<std::int64_t>(std::min<Wide>(patience, micros(most))));
  }

  /// True if its limit would end this job were it to run so many times slower than alone.
  static bool is_over_limit(const JobView& job, std::int64_t slower) {
    const Duration limit = job.spec().time_limit;
    if (limit == kForever) return false;
    const Duration run = job.spec().estimate == kForever ? limit / 2 : job.spec().estimate;
    return Wide{micros(run)} * slower > micros(limit);
  }

  IdleRule rule_;
};

}  // namespace

std::unique_ptr<const Gate> idle_by(const IdleRule& rule) { return std::make_unique<Idle>(rule); }

std::unique_ptr<const Gate> idle(const Keys& keys) {
  return idle_by({.below_percent = keys.number(kShareBelowKey.name),
                  .after = keys.time(kShareAfterKey.name),
                  .unknown = keys.time(kShareUnknownAfterKey.name),
                  .patience_milli = keys.number(kSharePatienceKey.name)});
}

}  // namespace berth
