// Slurm's multifactor priority: age, fair share and size, weighed and summed.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/base/wide.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kMultifactorKeys = std::to_array<Key>({
    {.name = "age_weight",
     .type = KeyType::Count,
     .usual = "1000",
     .least = 0,
     .most = 1'000'000,
     .what = "Slurm's PriorityWeightAge."},
    {.name = "fair_share_weight",
     .type = KeyType::Count,
     .usual = "10000",
     .least = 0,
     .most = 1'000'000,
     .what = "Slurm's PriorityWeightFairshare."},
    {.name = "size_weight",
     .type = KeyType::Count,
     .usual = "1000",
     .least = 0,
     .most = 1'000'000,
     .what = "Slurm's PriorityWeightJobSize."},
    {.name = "max_age",
     .type = KeyType::Time,
     .usual = "7d",
     .least = micros(seconds(1)),
     .most = kYear,
     .what = "Slurm's PriorityMaxAge: the wait after which age no longer grows."},
    {.name = "period",
     .type = KeyType::Time,
     .usual = "5m",
     .least = micros(seconds(1)),
     .most = kYear,
     .what =
         "Slurm's PriorityCalcPeriod: while jobs wait, priorities are computed again this often."},
});

constexpr About kMultifactor{
    .title = "Slurm's multifactor priority: age, fair share and size, weighed and summed.",
    .rule =
        "priority = age_weight x age + fair_share_weight x fair share + size_weight x size, "
        "largest first; among equals the earliest submitted. age = min(1, time waited / max_age). "
        "size = GPUs asked for / GPUs of the cluster. fair share = 2^(-U/S): U is the user's part "
        "of the decayed service of all users, S is the user's part of the weights of all users "
        "with an account or a waiting job. While jobs wait, priorities are computed at every event "
        "and at least every `period`. The first job that does not fit blocks all jobs behind it.",
    .reads = "Time waited, GPUs asked for, accounts (service, weight), users of waiting jobs.",
    .source =
        "Slurm's documentation, priority_multifactor and classic_fair_share: the formulas, the "
        "default times and the weights of its example.",
    .differs =
        "There are no factors for partition, QOS, TRES and nice. Accounts have one level, so "
        "effective usage is usage. Usage is service by dominant shares and decays by the engine's "
        "half-life (a week, Slurm's default). There is no backfill, as in Slurm's sched/builtin.",
    .cost = "O(users x shapes) per pass.",
    .proof =
        "The fair-share factors of the five users in the example of classic_fair_share, to 0.001 "
        "(test/paper/multifactor_test.cpp).",
    .keys = kMultifactorKeys};

namespace {

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
  explicit Multifactor(const Keys& keys)
      : age_weight_(keys.number("age_weight")),
        fair_share_weight_(keys.number("fair_share_weight")),
        size_weight_(keys.number("size_weight")),
        max_age_(keys.time("max_age")),
        period_(keys.time("period")) {}

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
            .wake_at = somebody_waits ? std::optional(later(view.now(), period_)) : std::nullopt};
  }

  /// All of one user that ask alike age alike, from when they began to wait.
  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.minor = micros(job.in_line_since())}, .valid_until = std::nullopt};
  }
  /// One that ran in between has waited less than its submission says: it may fall behind, and is
  /// level again when both have waited for the most that counts.
  std::int64_t lane(const JobView& job, const ClusterView& view) const override {
    return micros(view.now() - job.submitted() - job.waited());
  }
  Rank lane_rank(const JobView& job, const ClusterView& view) const override {
    const auto known = fair_share_.find(job.user());
    const std::int64_t fair_share = known == fair_share_.end() ? kOne : known->second;
    const std::int64_t priority = age_weight_ * age(job) + fair_share_weight_ * fair_share +
                                  size_weight_ * size(job, view.cluster());
    return {.major = -priority, .minor = micros(job.in_line_since())};
  }

  /// The waiting jobs are looked up again.
  Expected<void> restore(const Snapshot&) override {
    is_fresh_ = true;
    return {};
  }

 private:
  /// Exact: a product of a year in microseconds and of kOne does not fit 64 bits.
  std::int64_t age(const JobView& job) const {
    const Duration waited = std::min(job.waited(), max_age_);
    return static_cast<std::int64_t>(Wide{micros(waited)} * kOne / micros(max_age_));
  }
  static std::int64_t size(const JobView& job, const Cluster& cluster) {
    const std::int64_t all = std::max<std::int64_t>(1, cluster.gpu_count().raw());
    return std::min(job.gpus().raw(), all) * kOne / all;
  }

  /// Follows waiting jobs of users without an account, whose weights count too.
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

  std::int64_t age_weight_;
  std::int64_t fair_share_weight_;
  std::int64_t size_weight_;
  Duration max_age_;
  Duration period_;
  bool is_fresh_ = true;
  std::map<JobId, UserId> strangers_;
  std::map<UserId, std::int64_t> fair_share_;  ///< In the pass under way, parts per billion.
};

}  // namespace

std::unique_ptr<Order> multifactor(const Keys& keys, const Knobs&) {
  return std::make_unique<Multifactor>(keys);
}

}  // namespace berth
