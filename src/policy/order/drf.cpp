// Dominant resource fairness: the user with the smallest dominant share is next.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "core/base/wide.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kDrf{
    .title = "Dominant resource fairness: the user with the smallest dominant share is next.",
    .rule =
        "dominant share of a user = max over r of (use of r / total of r) / weight, where r is GPU "
        "memory, GPU compute, host cores, host memory. The earliest job of the user with the "
        "smallest dominant share is placed, which raises that share at once; then the smallest is "
        "looked for again. A job that fits may pass a user whose next job does not.",
    .reads =
        "Grants (charges, compute, cores, host memory), accounts (weight), values of GPU types, "
        "user, time of submission. A user without running jobs has share 0 and goes first.",
    .source = "Ghodsi et al., NSDI 2011, Algorithm 1.",
    .differs =
        "The algorithm stops when the next user's task does not fit; here other users' jobs may "
        "pass, and jobs may be gangs. A shared GPU without a stated share of compute counts as a "
        "whole one. Totals are over the cluster, not per node.",
    .cost = "O(running + nodes) per pass, O(log users) per start.",
    .proof =
        "The worked example of the paper's Table 1 (section 4.1), start by start "
        "(test/paper/drf_test.cpp)."};

namespace {

constexpr std::int64_t kWhole = 1'000'000'000'000;  ///< Parts of a resource.

/// Of GPU memory, GPU compute, host cores and host memory; exact, so that sums never round.
using Amounts = std::array<Wide, 4>;

Amounts amounts_of(const Grant& grant, const ClusterView& view) {
  const GpuMilli milli = grant.milli == GpuMilli(0) ? kWholeGpu : grant.milli;
  Amounts held = {0, 0, grant.cpu.raw(), grant.memory.raw()};
  for (const Share& share : grant.shares) {
    const Wide value = view.value_of(share.gpu);
    held[0] += value * share.charge.raw();
    held[1] += value * milli.raw();
  }
  return held;
}

Amounts amounts_of(const ClusterView& view) {
  Amounts all = {Wide{view.worth().memory.raw()} * kUsualValue,
                 Wide{view.worth().gpus} * kWholeGpu.raw(), 0, 0};
  for (const NodeSpec& node : view.cluster().nodes()) {
    all[2] += node.cpu.raw();
    all[3] += node.host.raw();
  }
  return all;
}

class Drf final : public Order {
 public:
  DependsOn depends_on() const override { return DependsOn::Group; }

  Decisions prepare(const ClusterView& view, std::span<const Event>) override {
    used_.clear();
    view_ = view;
    all_ = amounts_of(view);
    for (const JobId id : view.running()) {
      const JobView job = view.job(id);
      add(job.user(), job.grant());
    }
    return {};
  }

  Rank group_rank(UserId user, const ClusterView& view) const override {
    return {.major = dominant_share(user) * 1000 / view.account(user).weight_milli};
  }
  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.major = micros(job.in_line_since())}, .valid_until = std::nullopt};
  }

  bool note_start(const JobView& job, const Grant& grant) override {
    add(job.user(), grant);
    return true;
  }

 private:
  void add(UserId user, const Grant& grant) {
    const Amounts more = amounts_of(grant, *view_);
    Amounts& used = used_[user];
    for (std::size_t r = 0; r < used.size(); ++r) used[r] += more[r];
  }

  std::int64_t dominant_share(UserId user) const {
    const auto used = used_.find(user);
    if (used == used_.end()) return 0;
    Wide largest = 0;
    for (std::size_t r = 0; r < all_.size(); ++r) {
      if (all_[r] > 0) largest = std::max(largest, used->second[r] * kWhole / all_[r]);
    }
    return static_cast<std::int64_t>(largest);
  }

  std::map<UserId, Amounts> used_;  ///< By user with grants, in this pass.
  Amounts all_{};
  std::optional<ClusterView> view_;  ///< Of this pass.
};

}  // namespace

std::unique_ptr<Order> drf(const Keys&, const Knobs&) { return std::make_unique<Drf>(); }

}  // namespace berth
