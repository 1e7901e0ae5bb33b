// Cells (HiveD, Zhao et al., OSDI 2020): aligned groups of GPUs that are close to each other, each
// made of cells of one kind, its buddies. A GPU is a cell; two GPUs are one, two of these, and so
// on up to a node; then two nodes of a switch, two of these, and so on.
//
// A node whose number of GPUs is no power of two is a cell of as many parts as its largest odd
// divisor: 6 GPUs are three pairs. Nodes in a row under a switch that have equally many GPUs are
// cells of nodes, the largest possible first: 7 nodes are four, two and one. Plain data; GPUs are
// numbered from 0 in the order of the cells.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/cluster.hpp"

namespace berth {

/// A position in Cells::all.
using CellNumber = std::uint32_t;
inline constexpr CellNumber kNoCell = std::numeric_limits<CellNumber>::max();
/// A position in CellKinds::all.
using KindNumber = std::uint32_t;

struct CellKind {
  std::uint32_t gpus = 1;   ///< In it.
  std::uint32_t parts = 0;  ///< Cells that it is made of; 0: it is a GPU.
  KindNumber part = 0;      ///< Their kind, which comes before it.
  bool has_nodes = false;   ///< It is made of nodes.

  auto operator<=>(const CellKind&) const = default;
};

class CellKinds {
 public:
  const CellKind& operator[](KindNumber kind) const { return all_[kind]; }
  KindNumber count() const { return static_cast<KindNumber>(all_.size()); }

  /// The kind of this many GPUs of a node. Requires: one at least.
  KindNumber of_gpus(std::uint32_t gpus);
  /// The kind of this many nodes of a kind, a power of two.
  KindNumber of_nodes(std::uint32_t nodes, KindNumber node);
  /// Kinds in which cells of this kind are found, itself first, the smallest first.
  std::vector<KindNumber> around(KindNumber kind) const;

 private:
  KindNumber number_of(const CellKind& kind);

  std::vector<CellKind> all_ = {CellKind{}};
};

struct Cell {
  KindNumber kind = 0;
  CellNumber parent = kNoCell;
  CellNumber first_part = kNoCell;  ///< Its parts follow each other.
  std::uint32_t first_gpu = 0;      ///< So do its GPUs.
};

/// Cells that are part of no other, and all their parts.
class Cells {
 public:
  /// Appends a cell with all its parts; its GPUs are the next ones.
  CellNumber add(const CellKinds& kinds, KindNumber kind);

  const Cell& operator[](CellNumber cell) const { return all_[cell]; }
  CellNumber count() const { return static_cast<CellNumber>(all_.size()); }
  std::uint32_t gpus() const { return static_cast<std::uint32_t>(of_gpu_.size()); }
  /// The cell that is this GPU.
  CellNumber of_gpu(std::uint32_t gpu) const { return of_gpu_[gpu]; }
  /// Those that are part of no other, in order.
  const std::vector<CellNumber>& tops() const { return tops_; }
  CellNumber top_of(CellNumber cell) const;
  /// In order; none of a GPU.
  std::vector<CellNumber> parts_of(const CellKinds& kinds, CellNumber cell) const;
  /// Those among this cell and its parts that are nodes, or lie in one and are part of none.
  void append_within_nodes(const CellKinds& kinds, CellNumber cell,
                           std::vector<CellNumber>& out) const;

 private:
  void split(const CellKinds& kinds, CellNumber cell);

  std::vector<Cell> all_;
  std::vector<CellNumber> of_gpu_;
  std::vector<CellNumber> tops_;
};

/// The cells of a cluster and their kinds. GPUs have the numbers of their ids. O(GPUs).
struct ClusterCells {
  CellKinds kinds;
  Cells cells;

  explicit ClusterCells(const Cluster& cluster);
};

/// Deals the cells of a machine out, each from the smallest cell around it that is left. Requires:
/// the machine outlives it.
class CellStock {
 public:
  explicit CellStock(const ClusterCells& machine);

  /// Takes the largest cell of so many GPUs, rather one within a node. Returns: its kind; nothing
  /// if none is left.
  std::optional<KindNumber> take(std::uint32_t least, std::uint32_t most);

 private:
  bool take_one(KindNumber kind);

  const CellKinds& kinds_;
  std::vector<KindNumber> largest_first_;
  std::vector<std::uint32_t> left_;  ///< By kind.
};

}  // namespace berth
