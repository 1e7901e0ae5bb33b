// For placements that score nodes: the best node that holds the job, and on it the GPUs with the
// least room.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "policy/kit/candidates.hpp"
#include "policy/kit/free_share.hpp"

namespace berth {

/// Fills `chosen` with the fitting GPUs of a node that have the smallest free shares, as many as
/// are wanted. Requires: so many fit.
inline void fullest_gpus(NodeId node, const Trial& trial, Candidates& candidates,
                         std::vector<GpuId>& chosen) {
  chosen.clear();
  candidates.append_fitting(node, trial.cluster().node(node).gpus, chosen);
  const auto key = [&](GpuId gpu) { return std::pair(free_share(gpu, trial), gpu); };
  std::ranges::sort(chosen, {}, key);
  chosen.resize(candidates.wanted());
}

/// The node that holds the whole job with the largest `score_of(node)`, the first among equals.
template <class ScoreOf>
std::optional<NodeId> best_node(const Ask& ask, Candidates& candidates, ScoreOf score_of) {
  const bool wants_gpus = ask.gpus() > GpuCount(0);
  std::optional<NodeId> best;
  decltype(score_of(NodeId(0))) most{};
  const NodeId end(candidates.node_count());
  for (NodeId node = candidates.next_node(NodeId(0)); node < end;
       node = candidates.next_node(NodeId(node.value() + 1))) {
    const bool holds = wants_gpus ? candidates.fitting(node) >= candidates.wanted()
                                  : candidates.host_fits(node, 0);
    if (!holds) continue;
    auto score = score_of(node);
    if (best && score <= most) continue;
    best = node;
    most = std::move(score);
  }
  return best;
}

/// On the best node by `score_of(node)`, the GPUs with the least room; a job larger than the
/// largest node takes the fitting GPUs of the first nodes. Cost: O(GPUs).
template <class ScoreOf>
Placed place_best(const Ask& ask, const Trial& trial, Candidates& candidates, ScoreOf score_of) {
  if (ask.gpus() > GpuCount(0) && candidates.needs_many_nodes()) {
    return candidates.gather_in_order();
  }
  const auto node = best_node(ask, candidates, score_of);
  if (!node) return candidates.refusal();
  if (ask.gpus() == GpuCount(0)) return Placement{.gpus = {}, .host = *node};
  std::vector<GpuId> gpus;
  fullest_gpus(*node, trial, candidates, gpus);
  return placement_on(trial.cluster(), std::move(gpus));
}

/// For placements in two dimensions, by `score(left, asked, most)` of cores and GPUs: those left on
/// the node, those of the ask, and those of the largest node.
template <class Score>
Placed place_by_cpu_and_gpu(const Ask& ask, JobId job, const Trial& trial, Score score) {
  Candidates candidates(ask, job, trial);
  const CpuGpu most = largest_node(trial.cluster());
  return place_best(ask, trial, candidates, [&](NodeId node) {
    return score(left_of(node, trial), taken_by(ask, node, trial.cluster()), most);
  });
}

}  // namespace berth
