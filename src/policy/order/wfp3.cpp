// WFP3: waiting time over requested time, cubed, times size.
#include <algorithm>
#include <array>

#include "core/base/limits.hpp"
#include "core/base/wide.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kWfp3Keys = std::to_array<Key>({
    {.name = "period",
     .type = KeyType::Time,
     .usual = "1m",
     .least = micros(seconds(1)),
     .most = kYear,
     .what = "While jobs wait, ranks are compared again at least this often."},
});

constexpr About kWfp3{
    .title = "WFP3: long waits for short or large requests go first; for backfill `easy`.",
    .rule = "score = (waiting time / requested time)^3 x GPUs, largest first, without preemption.",
    .reads = "Time of submission, time limit or else estimate, GPUs asked for.",
    .source = "Tang, Lan, Desai and Buettner, CLUSTER 2009, for Blue Gene/P.",
    .differs =
        "Waiting time is the time since submission. A job without a limit or an estimate has score "
        "0. The cube root of the score is compared, which gives the same order. Jobs of 0 GPUs "
        "count as 1.",
    .cost = "O(lanes) per pass; a lane is one user, one request and one requested time.",
    .proof = "None yet.",
    .needs = {.estimates = true},
    .keys = kWfp3Keys};

namespace {

/// 1024 times the cube root, rounded down; 1024 for 0.
std::int64_t cube_root_1024(std::int64_t number) {
  const Wide cube = Wide{std::max<std::int64_t>(1, number)} << 30;
  std::int64_t root = 0;
  for (std::int64_t bit = std::int64_t{1} << 30; bit > 0; bit /= 2) {
    const Wide more = root + bit;
    if (more * more * more <= cube) root += bit;
  }
  return root;
}

class Wfp3 final : public Order {
 public:
  explicit Wfp3(Duration period) : period_(period) {
    for (std::size_t gpus = 0; gpus < roots_.size(); ++gpus) {
      roots_[gpus] = cube_root_1024(static_cast<std::int64_t>(gpus));
    }
  }

  DependsOn depends_on() const override { return DependsOn::Lane; }

  Decisions prepare(const ClusterView& view, std::span<const Event>) override {
    const bool any_waits = view.job_count() > view.running().size();
    if (!any_waits) return {};
    return {.list = {}, .wake_at = later(view.now(), period_)};
  }

  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.major = micros(job.in_line_since())}, .valid_until = std::nullopt};
  }
  /// Of jobs that ask alike and requested the same time, the older one always has the larger score.
  std::int64_t lane(const JobView& job, const ClusterView&) const override {
    return micros(requested(job));
  }
  Rank lane_rank(const JobView& job, const ClusterView& view) const override {
    if (requested(job) == kForever) return {.minor = micros(job.in_line_since())};
    const Wide waited = Wide{micros(view.now() - job.in_line_since())} << 20;
    const Wide root = waited * root_of(job.gpus()) / micros(requested(job));
    constexpr Wide kMost = std::int64_t{1} << 62;
    return {.major = -static_cast<std::int64_t>(std::min(root, kMost)),
            .minor = micros(job.in_line_since())};
  }

 private:
  static Duration requested(const JobView& job) {
    const Duration limit = job.spec().time_limit;
    return std::max(limit == kForever ? job.estimate() : limit, Duration(1));
  }

  /// Asked for every lane in every pass.
  std::int64_t root_of(GpuCount gpus) const {
    const auto count = static_cast<std::size_t>(gpus.raw());
    return count < roots_.size() ? roots_[count] : cube_root_1024(gpus.raw());
  }

  Duration period_;
  std::array<std::int64_t, 129> roots_{};  ///< Of the numbers of GPUs that most jobs ask for.
};

}  // namespace

std::unique_ptr<Order> wfp3(const Keys& keys, const Knobs&) {
  return std::make_unique<Wfp3>(keys.time("period"));
}

}  // namespace berth
