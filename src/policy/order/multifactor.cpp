// Slurm's multifactor priority: age, fair share and size, weighed and summed.
//
// Rule: priority = 1000 x age + 10000 x fair share + 1000 x size, largest first; among equals the
//   first submitted. Age is the time waited over 7 days, at most 1. Size is the GPUs asked for over
//   the cluster's. Fair share is 2^(-U/S): U is the user's part of the decayed service of all, S
//   the user's part of the weights of all who have an account or a job waiting. All of it is
//   reckoned whenever something happens, and five minutes later at the latest while jobs wait.
//   Nobody passes the first job that does not fit.
// Reads: waited, gpus, accounts (service, weight), users of waiting jobs.
// Differs from the paper: Slurm's documentation, priority_multifactor and classic_fair_share: the
//   factors' formulas, the default ages, the weights of its example. Partition, QOS, TRES and nice
//   count nothing; one level of accounts, so effective usage is usage; service is of dominant
//   shares and decays by the engine's half-life (a week, as Slurm's); five minutes are its default
//   PriorityCalcPeriod. Without backfill, as Slurm's sched/builtin.
//   Cost: O(users x shapes) per pass.
#include <algorithm>
#include <map>
#include <utility>

#include "core/wide.hpp"
#include "policy/registry.hpp"

namespace berth {

namespace {

constexpr std::int64_t kAgeWeight = 1000;
constexpr std::int64_t kFairShareWeight = 10'000;
constexpr std::int64_t kSizeWeight = 1000;
constexpr Duration kMaxAge = hours(24) * 7;
constexpr Duration kPeriod = minutes(5);
constexpr std::int64_t kOne = 1'000'000'000;  ///< A factor of 1.

/// 2^(-part / whole) in parts per billion. Requires: part >= 0, whole > 0.
std::int64_t halved_by(Wide part, Wide whole) {
  while (part > kOne * kOne || whole > kOne * kOne) part /= 2, whole /= 2;
  if (whole == 0) return 0;
  const std::int64_t q62 = decay_q62(Duration(static_cast<std::int64_t>(part)),
                                     Duration(static_cast<std::int64_t>(whole)));
  return static_cast<std::int64_t>((Wide{q62} * kOne) >> 62);
}

class Multifactor final : public Order {
 public:
  DependsOn depends_on() const override { return DependsOn::Lane; }

  Decisions prepare(const ClusterView& view, std::span<const Event> events) override {
    note_strangers(view, events);
    std::map<UserId, std::int64_t> service;
    for (const auto& [user, account] : view.accounts()) {
      service[user] = account.service_at(view.now(), view.settings().service_half_life).raw();
    }
    for (const auto& [job, user] : strangers_) service.try_emplace(user, 0);
    Wide all_service = 0;
    Wide all_weights = 0;
    for (const auto& [user, had] : service) {
      all_service += had;
      all_weights += view.account(user).weight_milli;
    }
    fair_share_.clear();
    for (const auto& [user, had] : service) {
      const Wide share = Wide{view.account(user).weight_milli} * all_service;
      fair_share_[user] = all_service == 0 ? kOne : halved_by(Wide{had} * all_weights, share);
    }
    const bool somebody_waits = view.job_count() > view.running().size();
    return {.list = {},
            .wake_at = somebody_waits ? std::optional(later(view.now(), kPeriod)) : std::nullopt};
  }

  /// All of one user that ask alike age alike, from when they began to wait.
  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.minor = micros(job.submitted())}, .valid_until = std::nullopt};
  }
  /// One that ran in between has waited less than its submission says: it may fall behind, and is
  /// level again when both have waited for the most that counts.
  std::int64_t lane(const JobView& job, const ClusterView& view) const override {
    return micros(view.now() - job.submitted() - job.waited());
  }
  Rank lane_rank(const JobView& job, const ClusterView& view) const override {
    const auto known = fair_share_.find(job.user());
    const std::int64_t fair_share = known == fair_share_.end() ? kOne : known->second;
    const std::int64_t priority = kAgeWeight * age(job) + kFairShareWeight * fair_share +
                                  kSizeWeight * size(job, view.cluster());
    return {.major = -priority, .minor = micros(job.submitted())};
  }

  /// Who waits is asked for again.
  Expected<void> restore(const Snapshot&) override {
    is_fresh_ = true;
    return {};
  }

 private:
  static std::int64_t age(const JobView& job) {
    const Duration waited = std::min(job.waited(), kMaxAge);
    return micros(waited) * 10 / (micros(kMaxAge) / (kOne / 10));
  }
  static std::int64_t size(const JobView& job, const Cluster& cluster) {
    const std::int64_t all = std::max<std::int64_t>(1, cluster.gpu_count().raw());
    return std::min(job.gpus().raw(), all) * kOne / all;
  }

  /// Keeps up with waiting jobs of users who have no account: theirs are weighed too.
  void note_strangers(const ClusterView& view, std::span<const Event> events) {
    const auto note = [&](JobId id) {
      const Job* const job = view.find(id);
      const bool waits = job != nullptr && is_waiting(job->state);
      if (waits && !view.accounts().contains(job->spec.user)) {
        strangers_[id] = job->spec.user;
      } else {
        strangers_.erase(id);
      }
    };
    if (std::exchange(is_fresh_, false)) {
      strangers_.clear();
      view.for_each_pending([&](const JobView& job) { note(job.id()); });
    }
    for (const Event& event : events) note(event.job);
    std::erase_if(strangers_,
                  [&](const auto& stranger) { return view.accounts().contains(stranger.second); });
  }

  bool is_fresh_ = true;
  std::map<JobId, UserId> strangers_;
  std::map<UserId, std::int64_t> fair_share_;  ///< In the pass under way, parts per billion.
};

}  // namespace

std::unique_ptr<Order> multifactor(const Knobs&) { return std::make_unique<Multifactor>(); }

}  // namespace berth
