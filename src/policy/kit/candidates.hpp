// The GPUs that fit an ask, node by node: the base of most placements.
//
// Lives for one place() call. Remembers why GPUs did not fit, so that a refusal names the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/trial.hpp"
#include "policy/policy.hpp"

namespace berth {

class Candidates {
 public:
  Candidates(const Ask& ask, JobId job, const Trial& trial);

  std::uint32_t wanted() const { return wanted_; }
  std::uint32_t node_count() const { return nodes_; }
  /// True if the vacant GPUs are exactly the fitting ones, so that the index of vacant GPUs knows.
  bool are_the_vacant() const { return by_count_; }
  /// False if there are too few fitting GPUs in all, as far as O(1) can tell.
  bool may_suffice() const { return !by_count_ || trial_.use().vacant() >= ask_.gpus(); }
  bool needs_many_nodes() const { return wanted_ > trial_.cluster().largest_node(); }

  /// The first node of [from, end) that is to be looked at; no GPU of those before it fits.
  NodeId next_node(NodeId from, NodeId end) const;
  NodeId next_node(NodeId from) const { return next_node(from, NodeId(nodes_)); }

  /// GPUs of this node that fit the ask; all that its host can carry of them. O(1) for jobs that
  /// take whole GPUs, else O(GPUs of the node).
  std::uint32_t fitting(NodeId node);

  /// True if this node's cores and memory carry so many of the ask's GPUs.
  bool host_fits(NodeId node, std::uint32_t gpus);

  /// The first node of [from, end) with at least `count` fitting GPUs; nodes that cannot have so
  /// many are passed over in O(1).
  std::optional<NodeId> first_node(std::uint32_t count) {
    return first_node(count, NodeId(0), NodeId(nodes_));
  }
  std::optional<NodeId> first_node(std::uint32_t count, NodeId from, NodeId end);
  /// The node with the fewest fitting GPUs that has at least `count`; the first among equals.
  std::optional<NodeId> tightest_node(std::uint32_t count);

  /// The fitting GPUs of a node, ascending, `count` at most.
  void append_fitting(NodeId node, std::uint32_t count, std::vector<GpuId>& out);
  Placement take_from(NodeId node, std::uint32_t count);
  /// The same, but those that are closest to each other (close_gpus.hpp).
  void append_closest(NodeId node, std::uint32_t count, std::vector<GpuId>& out);
  Placement take_closest(NodeId node, std::uint32_t count);

  /// For jobs larger than a node: fitting GPUs from the first nodes on, until there are enough.
  Placed gather_in_order();
  /// For jobs without GPUs: the first node whose cores and memory suffice.
  Placed first_host();

  /// The refusal if no place was found.
  std::unexpected<Refusal> refusal() const { return std::unexpected(Refusal{.why = worst_}); }

 private:
  bool fits(GpuId gpu);
  bool looks_fit(GpuId gpu);
  /// Upper bound on fitting(node), O(1).
  std::uint32_t at_most(NodeId node) const;
  void note(Why why);

  const Ask& ask_;
  JobId job_;
  const Trial& trial_;
  std::uint32_t wanted_;
  std::uint32_t nodes_;
  bool by_count_;  ///< Vacant GPUs are exactly the fitting ones.
  bool by_room_;   ///< No GPU fits on a node that has less room on each than the ask.
  Why worst_ = Why::Capacity;
};

/// Placement over GPUs in any order of choosing.
Placement placement_on(const Cluster& cluster, std::vector<GpuId> gpus);

}  // namespace berth
