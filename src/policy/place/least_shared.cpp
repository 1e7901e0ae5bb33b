// Least shared: sharing slows jobs, so it is the last resort.
#include <array>
#include <memory>

#include "policy/kit/cheapest.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kLeastSharedKeys = std::to_array<Key>({{
    .name = "share_below_percent",
    .type = KeyType::Percent,
    .usual = "75",
    .least = 0,
    .most = 100,
    .what = "A GPU with tenants that is at least this busy is the last choice.",
}});

constexpr About kLeastShared{
    .title = "Least shared: fewest tenants first, busy GPUs last, then best fit.",
    .rule =
        "price of a GPU = (busy, tenants, free memory left), smallest first, over the GPUs that "
        "fit, and of equally dear ones those that are closest to each other by NVLink and bus; the "
        "node whose chosen GPUs have the smallest sum of prices, the first among equals. "
        "A GPU with tenants is busy if it is in use for `share_below_percent` of the time or more, "
        "or if a tenant is known to slow the job down or to be slowed down by it. Foreign memory "
        "above the guard band counts as a tenant. Whole GPUs are taken on the node with the fewest "
        "free ones that has enough, the closest of them. A job larger than the largest node takes "
        "GPUs of the first nodes.",
    .reads =
        "Request, tenants, measured utilisation, learned slowdowns of pairs, free memory per GPU, "
        "links between GPUs.",
    .source =
        "berth's own. Gandiva (Xiao et al., OSDI 2018) packs by utilisation too, but migrates.",
    .differs = "Nothing to compare with: it is not published elsewhere.",
    .cost = "O(GPUs log GPUs per node).",
    .proof = "None yet.",
    .keys = kLeastSharedKeys};

namespace {

/// What sharing costs, and what is left behind: small is good. Sums of them compare nodes.
struct Price {
  std::int32_t busy = 0;
  std::int32_t tenants = 0;
  Bytes left{0};
  auto operator<=>(const Price&) const = default;

  Price& operator+=(const Price& other) {
    busy += other.busy;
    tenants += other.tenants;
    left += other.left;
    return *this;
  }
};

class LeastShared final : public Placer {
 public:
  explicit LeastShared(const Keys& keys) : busy_from_(keys.number("share_below_percent")) {}

  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    const bool on_one_node = ask.gpus() > GpuCount(0) && !candidates.needs_many_nodes();
    if (on_one_node && takes_whole(ask)) {  // vacant ones, so none is shared
      const auto node = candidates.tightest_node(candidates.wanted());
      if (!node) return candidates.refusal();
      return candidates.take_closest(*node, candidates.wanted());
    }
    return place_cheapest(ask, trial, candidates, [&](GpuId gpu) { return price_of(gpu, trial); });
  }
  bool keeps_on_node() const override { return true; }

 private:
  Price price_of(GpuId gpu, const Trial& trial) const {
    const GpuUse& use = trial.use().gpu(gpu);
    const GpuSpec& spec = trial.cluster().gpu(gpu);
    const bool foreign = use.tenants == 0 && !is_vacant(trial.use().admission(), spec, use);
    const std::int32_t tenants = use.tenants + (foreign ? 1 : 0);
    const bool busy = tenants > 0 && (use.utilisation >= busy_from_ || trial.is_avoided(gpu));
    return {.busy = busy ? 1 : 0, .tenants = tenants, .left = free_memory(gpu, trial)};
  }

  std::int64_t busy_from_;
};

}  // namespace

std::unique_ptr<Placer> least_shared(const Keys& keys) {
  return std::make_unique<LeastShared>(keys);
}

}  // namespace berth
