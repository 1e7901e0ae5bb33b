// Use of GPUs and nodes: sums over their tenants, with an index of vacant GPUs. A value type.
//
// Not thread-safe. Every change goes through put/take or sense, which update the index.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/admission.hpp"
#include "core/ask.hpp"
#include "core/cluster.hpp"

namespace berth {

/// The state of one node, beside its spec.
struct NodeUse {
  CpuMilli cpu{0};
  Bytes host{0};
  std::uint32_t vacant = 0;  ///< GPUs with no tenant, healthy, free of foreign use.
  bool healthy = true;

  bool operator==(const NodeUse&) const = default;
};

/// A set of nodes as a bit map; finds the next member in O(nodes / 64).
class NodeSet {
 public:
  explicit NodeSet(std::size_t nodes) : words_((nodes + 63) / 64, 0) {}
  void insert(NodeId id) { words_[id.value() / 64] |= bit(id); }
  void erase(NodeId id) { words_[id.value() / 64] &= ~bit(id); }

  /// Returns: the first member with from <= id < end, or `end`.
  NodeId next(NodeId from, NodeId end) const {
    for (std::uint32_t word = from.value() / 64; word * 64 < end.value(); ++word) {
      std::uint64_t bits = words_[word];
      if (word == from.value() / 64) bits &= ~std::uint64_t{0} << (from.value() % 64);
      if (bits == 0) continue;
      const NodeId found(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
      return found < end ? found : end;
    }
    return end;
  }
  bool operator==(const NodeSet&) const = default;

 private:
  static std::uint64_t bit(NodeId id) { return std::uint64_t{1} << (id.value() % 64); }
  std::vector<std::uint64_t> words_;
};

class Occupancy {
 public:
  Occupancy(const Cluster& cluster, const Admission& admission);

  const GpuUse& gpu(GpuId id) const { return gpus_[id.value()]; }
  const NodeUse& node(NodeId id) const { return nodes_[id.value()]; }
  const Admission& admission() const { return admission_; }
  GpuCount vacant() const { return GpuCount(vacant_); }
  /// The most there is on one GPU of the node, by room_on(). O(1).
  Bytes room_on(NodeId id) const { return rooms_[id.value()]; }
  /// The first node of [from, end) with at least so much on one GPU; `end` if there is none. Nodes
  /// without are passed over by 32s.
  NodeId next_with_room(Bytes room, NodeId from, NodeId end) const;

  /// Nodes with exactly `count` vacant GPUs.
  const NodeSet& nodes_with(std::uint32_t count) const { return by_vacant_[count]; }

  /// The charges of `ask` on `placement` now.
  Grant grant_for(const Cluster& cluster, const Ask& ask, const Placement& placement) const;

  void put(const Cluster& cluster, const Grant& grant);
  /// Requires: the grant was put before and not taken since.
  void take(const Cluster& cluster, const Grant& grant);

  /// Replaces all figures of one GPU, as a measurement does.
  void set_gpu(const Cluster& cluster, GpuId id, const GpuUse& use);
  void set_node(NodeId id, const NodeUse& use);
  void set_admission(const Cluster& cluster, const Admission& admission);

  /// Undoes what was done to a node and GPUs of it. Requires: all that changed since this was so is
  /// put back.
  void put_back(GpuId id, const GpuUse& use) { gpus_[id.value()] = use; }
  void put_back(NodeId id, const NodeUse& use, Bytes room);

  bool operator==(const Occupancy&) const = default;

 private:
  void reindex(NodeId node, std::int64_t change);
  void find_room(const Cluster& cluster, NodeId node);
  void set_room(NodeId node, Bytes most);
  void recount(const Cluster& cluster);
  bool vacant_now(const Cluster& cluster, GpuId id) const {
    return is_vacant(admission_, cluster.gpu(id), gpus_[id.value()]);
  }
  Bytes room_now(const Cluster& cluster, GpuId id) const {
    return berth::room_on(cluster.gpu(id), gpus_[id.value()]);
  }

  Admission admission_;
  std::vector<GpuUse> gpus_;
  std::vector<NodeUse> nodes_;
  std::vector<NodeSet> by_vacant_;  ///< Indexed by the number of vacant GPUs.
  std::vector<Bytes> rooms_;        ///< By node.
  std::vector<Bytes> most_rooms_;   ///< The most of 32 nodes each.
  std::int64_t vacant_ = 0;
};

/// Calls visit(node, gpus on it) for each node of a grant, in order. Inlined always: every trial of
/// a place goes through it.
template <class Visit>
[[gnu::always_inline]] inline void for_each_node(const Cluster& cluster, const Grant& grant,
                                                 Visit visit) {
  if (grant.shares.empty()) return visit(grant.host, std::size_t{0});
  for (std::size_t i = 0; i < grant.shares.size();) {
    const NodeId node = cluster.node_of(grant.shares[i].gpu);
    std::size_t end = i;
    while (end < grant.shares.size() && cluster.node_of(grant.shares[end].gpu) == node) ++end;
    visit(node, end - i);
    i = end;
  }
}

/// True if this node's cores and memory carry `here` of the ask's GPUs too.
bool host_fits(const Cluster& cluster, const Occupancy& use, NodeId node, const Ask& ask,
               std::size_t here);

/// The whole inequality, for every GPU and node of a placement. Requires: ascending, distinct GPUs.
bool fits(const Cluster& cluster, const Occupancy& use, const Placement& placement, const Ask& ask);

}  // namespace berth
