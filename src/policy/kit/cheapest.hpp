// For placements that price single GPUs: the node whose chosen GPUs cost least.
#pragma once

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "policy/kit/candidates.hpp"
#include "policy/kit/close_gpus.hpp"

namespace berth {

/// The place with the least `price_of(gpu)`. A job goes to the node whose cheapest fitting GPUs
/// cost least in sum, of equally dear ones the closest to each other (close_gpus.hpp), the first
/// among equals; a job without GPUs to the first host with room, and a
/// job larger than the largest node to the fitting GPUs of the first nodes. A price has an order
/// and +=; a default one is nothing. Cost: O(GPUs log GPUs per node).
template <class PriceOf>
Placed place_cheapest(const Ask& ask, const Trial& trial, Candidates& candidates,
                      PriceOf price_of) {
  using Price = decltype(price_of(GpuId(0)));
  struct Choice {
    Price price;
    GpuId gpu;
    auto operator<=>(const Choice&) const = default;
  };
  if (ask.gpus() == GpuCount(0)) return candidates.first_host();
  if (candidates.needs_many_nodes()) return candidates.gather_in_order();
  std::vector<GpuId> best;
  std::vector<GpuId> fitting;
  std::vector<Choice> here;
  std::vector<GpuId> chosen;
  Price least{};
  Closeness least_closeness{};
  const NodeId end(candidates.node_count());
  for (NodeId node = candidates.next_node(NodeId(0)); node < end;
       node = candidates.next_node(NodeId(node.value() + 1))) {
    if (candidates.fitting(node) < candidates.wanted()) continue;
    fitting.clear();
    here.clear();
    candidates.append_fitting(node, trial.cluster().node(node).gpus, fitting);
    for (const GpuId gpu : fitting) here.push_back({price_of(gpu), gpu});
    std::ranges::sort(here);
    Price price{};
    for (const Choice& choice : std::span(here).first(candidates.wanted())) price += choice.price;
    if (!best.empty() && price > least) continue;
    // Those that are cheaper than the last, and the closest of those as dear as it.
    const Price last = here[candidates.wanted() - 1].price;
    chosen.clear();
    fitting.clear();
    for (const Choice& choice : here) {
      if (choice.price < last) chosen.push_back(choice.gpu);
      if (choice.price == last) fitting.push_back(choice.gpu);
    }
    const auto missing = candidates.wanted() - static_cast<std::uint32_t>(chosen.size());
    std::ranges::copy(closest_of(trial.cluster(), chosen, fitting, missing),
                      std::back_inserter(chosen));
    const Closeness closeness =
        trial.cluster().has_links() ? closeness_of(trial.cluster(), chosen) : Closeness{};
    if (!best.empty() && price == least && closeness >= least_closeness) continue;
    least = price;
    least_closeness = closeness;
    best = chosen;
  }
  if (best.empty()) return candidates.refusal();
  return placement_on(trial.cluster(), std::move(best));
}

/// Memory of a GPU without charges and foreign use.
inline Bytes free_memory(GpuId gpu, const Trial& trial) {
  const GpuUse& use = trial.use().gpu(gpu);
  return trial.cluster().gpu(gpu).capacity - use.foreign - use.charged;
}

}  // namespace berth
