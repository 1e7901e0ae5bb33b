// The machines: switches, nodes, GPUs and what connects them. Immutable once built, but for what
// links the GPUs of a node: a driver may tell otherwise later.
//
// Nodes of one switch are contiguous and so are the GPUs of one node, in ascending ids, so a range
// of ids is a place. Health and use change and live elsewhere (occupancy.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/link.hpp"
#include "core/request.hpp"

namespace berth {

/// The set of this GPU alone; empty for an id that no set holds.
constexpr GpuSet set_of(GpuId gpu) {
  return gpu.value() < kMostInSet ? GpuSet{1} << gpu.value() : GpuSet{0};
}

struct GpuSpec {
  NodeId node;
  ShareMode share_mode = ShareMode::TimeSlice;
  std::uint8_t type = 0;    ///< Index into Cluster::type_names().
  std::uint16_t slots = 4;  ///< Most tenants.
  Bytes capacity{0};        ///< Total memory less the driver's reserve.
  Bytes context{0};         ///< Memory of a process beside its allocations.
  GpuSet self = 0;          ///< It alone; 0 for an id that no set holds.

  auto operator<=>(const GpuSpec&) const = default;
};

/// Ascending.
std::vector<GpuId> gpus_in(GpuSet set);

struct NodeSpec {
  SwitchId switch_id;
  GpuId first_gpu;
  std::uint32_t gpus = 0;
  CpuMilli cpu{0};
  Bytes host{0};
  std::string name;
  bool is_numbered = false;  ///< Its types end with the indices of the GPUs: NodeShape::type.

  GpuId end_gpu() const { return GpuId(first_gpu.value() + gpus); }
  IdRange<GpuId> gpu_ids() const { return {first_gpu, end_gpu()}; }
  bool operator==(const NodeSpec&) const = default;
};

/// The description of one node, for Cluster::add_node.
struct NodeShape {
  std::string name;
  std::uint32_t gpus = 0;
  Bytes vram{0};
  Bytes context{0};
  /// With `#` at its end each GPU is of a type of its own: that with the GPU's index on the node.
  std::string type = "gpu";
  ShareMode share_mode = ShareMode::TimeSlice;
  std::uint16_t slots = 4;
  CpuMilli cpu{std::int64_t{1} << 40};  ///< Practically unlimited unless stated.
  Bytes host{std::int64_t{1} << 60};
  std::vector<Link> links = {};  ///< Pairs of its GPUs of which something is known, ascending.
};

class Cluster {
 public:
  /// Starts a new switch; the nodes added next belong to it.
  SwitchId add_switch();
  /// Requires: a switch was added; fewer than 64 GPU types in all.
  NodeId add_node(const NodeShape& shape);

  std::span<const NodeSpec> nodes() const { return nodes_; }
  std::span<const GpuSpec> gpus() const { return gpus_; }
  IdRange<NodeId> node_ids() const {
    return {NodeId(0), NodeId(static_cast<std::uint32_t>(nodes_.size()))};
  }
  IdRange<GpuId> gpu_ids() const {
    return {GpuId(0), GpuId(static_cast<std::uint32_t>(gpus_.size()))};
  }
  /// The description with which add_node() would make this node again.
  NodeShape shape_of(NodeId id) const;
  const NodeSpec& node(NodeId id) const { return nodes_[id.value()]; }
  const GpuSpec& gpu(GpuId id) const { return gpus_[id.value()]; }
  NodeId node_of(GpuId id) const { return gpus_[id.value()].node; }

  /// First node of each switch, plus one past the last: switch s has [first(s), first(s + 1)).
  std::uint32_t switches() const { return static_cast<std::uint32_t>(switch_first_.size()); }
  std::span<const NodeSpec> nodes_of(SwitchId id) const;

  std::uint32_t largest_node() const { return largest_node_; }  ///< GPUs on the largest node.
  Bytes largest_gpu() const { return largest_gpu_; }            ///< Capacity of the largest GPU.
  GpuCount gpu_count() const { return GpuCount(static_cast<std::int64_t>(gpus_.size())); }
  Bytes total_vram() const { return total_vram_; }
  /// Memory that one process may use on every GPU: the least capacity less the largest context.
  Bytes least_room() const { return smallest_gpu_ - largest_context_; }

  /// What is known of the paths between the GPUs of a node, by their places on it, ascending.
  std::span<const Link> links_of(NodeId id) const { return wiring_[id.value()].links; }
  /// Requires: are_links(links, GPUs of the node).
  void set_links(NodeId id, std::vector<Link> links);
  /// True if some GPUs of this node are closer to each other than others are.
  bool is_uneven(NodeId id) const { return !wiring_[id.value()].distances.empty(); }
  bool has_links() const { return has_links_; }  ///< Of any node.
  /// Between two GPUs of one node.
  std::uint16_t distance(GpuId one, GpuId other) const;
  /// The same machines, as if no link were known.
  Cluster without_links() const;

  std::span<const std::string> type_names() const { return types_; }
  GpuTypes type_bit(GpuId id) const { return GpuTypes{1} << gpu(id).type; }

  /// True if `first` is these machines without some of the last ones.
  bool begins_with(const Cluster& first) const;

  bool operator==(const Cluster&) const = default;

 private:
  /// How the GPUs of a node are connected.
  struct Wiring {
    std::vector<Link> links;
    std::vector<std::uint16_t> distances = {};  ///< Row by row; empty where all are `same`.
    std::uint16_t same = kFarthest;

    bool operator==(const Wiring&) const = default;
  };
  static Wiring wiring_of(std::vector<Link> links, std::uint32_t gpus);
  std::uint8_t type_index(const std::string& name);

  std::vector<NodeSpec> nodes_;
  std::vector<GpuSpec> gpus_;
  std::vector<Wiring> wiring_;  ///< By node.
  std::vector<std::uint32_t> switch_first_;
  std::vector<std::string> types_;
  std::uint32_t largest_node_ = 0;
  Bytes largest_gpu_{0};
  Bytes total_vram_{0};
  Bytes smallest_gpu_{0};
  Bytes largest_context_{0};
  bool has_links_ = false;
};

}  // namespace berth
