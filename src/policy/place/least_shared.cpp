// Least shared: fewest tenants first, busy GPUs last, then best fit.
//
// Rule: of the GPUs that fit, those that are not busy or have no tenant, then the fewest tenants,
//   then the least free memory; foreign use beyond the guard band counts as a tenant, and a tenant
//   known to slow this job, or to be slowed by it, makes a GPU busy. The node whose chosen GPUs are
//   best by the same measure, the first among equals. Whole GPUs go to the node with the fewest
//   free ones that has enough; a job larger than the largest node takes GPUs from the first nodes
//   on.
// Reads: ask, tenants, measured utilisation, learned pair slowdowns, free memory per GPU, key
//   share_below_percent.
// Differs from the paper: nothing known; sharing slows jobs, so it is the last resort. (Gandiva,
//   OSDI 2018, packs by utilisation too, but migrates.) Cost: O(GPUs log GPUs per node).
#include <algorithm>
#include <memory>
#include <tuple>
#include <vector>

#include "policy/candidates.hpp"
#include "policy/registry.hpp"

namespace berth {

namespace {

/// What sharing costs, and what is left behind: small is good. Sums of them compare nodes.
struct Price {
  std::int32_t busy = 0;
  std::int32_t tenants = 0;
  Bytes left{0};
  auto operator<=>(const Price&) const = default;

  void add(const Price& other) {
    busy += other.busy;
    tenants += other.tenants;
    left += other.left;
  }
};

struct Choice {
  Price price;
  GpuId gpu;
  auto operator<=>(const Choice&) const = default;
};

class LeastShared final : public Placer {
 public:
  void prepare(const ClusterView& view, std::span<const Event>) override {
    busy_from_ = view.settings().headroom.share_below_percent;
  }

  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (ask.gpus() == GpuCount(0)) return candidates.first_host();
    if (candidates.needs_many_nodes()) return candidates.gather_in_order();
    if (takes_whole(ask)) {  // vacant ones, so none is shared
      const auto node = candidates.tightest_node(candidates.wanted());
      if (!node) return candidates.refusal();
      return candidates.take_from(*node, candidates.wanted());
    }
    return cheapest(trial, candidates);
  }

 private:
  Placed cheapest(const Trial& trial, Candidates& candidates) const {
    std::vector<GpuId> best;
    Price least;
    std::vector<Choice> here;
    for (NodeId node(0); node < NodeId(candidates.node_count()); node = NodeId(node.value() + 1)) {
      choose(node, trial, candidates, here);
      if (here.empty()) continue;
      Price price;
      for (const Choice& choice : here) price.add(choice.price);
      if (!best.empty() && price >= least) continue;
      least = price;
      best.clear();
      for (const Choice& choice : here) best.push_back(choice.gpu);
    }
    if (best.empty()) return candidates.refusal();
    return placement_on(trial.cluster(), std::move(best));
  }

  /// The cheapest GPUs of one node, as many as are wanted; none if it has too few.
  void choose(NodeId node, const Trial& trial, Candidates& candidates,
              std::vector<Choice>& choices) const {
    choices.clear();
    if (candidates.fitting(node) < candidates.wanted()) return;
    std::vector<GpuId> fitting;
    candidates.append_fitting(node, trial.cluster().node(node).gpus, fitting);
    for (const GpuId gpu : fitting) choices.push_back({price_of(gpu, trial), gpu});
    std::ranges::sort(choices);
    choices.resize(candidates.wanted());
  }

  Price price_of(GpuId gpu, const Trial& trial) const {
    const GpuUse& use = trial.use().gpu(gpu);
    const GpuSpec& spec = trial.cluster().gpu(gpu);
    const bool foreign = use.tenants == 0 && !is_vacant(trial.use().admission(), spec, use);
    const std::int32_t tenants = use.tenants + (foreign ? 1 : 0);
    const bool busy = tenants > 0 && (use.utilisation >= busy_from_ || trial.is_avoided(gpu));
    return {.busy = busy ? 1 : 0,
            .tenants = tenants,
            .left = spec.capacity - use.foreign - use.charged};
  }

  std::int32_t busy_from_ = HeadroomKeys{}.share_below_percent;
};

}  // namespace

std::unique_ptr<Placer> least_shared() { return std::make_unique<LeastShared>(); }

}  // namespace berth
