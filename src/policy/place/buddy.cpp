// Buddy: the smallest aligned cell with room, as HiveD's cells are, and the fullest of these.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "policy/kit/cells.hpp"
#include "policy/kit/rooms.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kBuddy{
    .title = "Buddy: the smallest aligned cell of GPUs with room, and the fullest of these.",
    .rule =
        "Cells are GPUs, aligned pairs, fours and so on up to a node, then nodes of a switch in "
        "twos, fours and so on. The smallest kind of cell of which one has enough fitting GPUs; of "
        "these the one with the fewest, then the one in the fullest cell around it, and so on. In "
        "it the part with the fewest fitting GPUs that has enough; if none has, the part with the "
        "most gives all of them, and so on for the rest. A job that fits one node waits for one; "
        "one that no cell holds takes the cells with the most first.",
    .reads = "Request, fitting GPUs, nodes and switches.",
    .source = "HiveD (Zhao et al., OSDI 2020): its cells, as a placement of any policy.",
    .differs =
        "There are no virtual clusters (`hived` has them). There the fullest node is taken, and "
        "cells are split only where no smaller one is whole; here cells that are in use are filled "
        "first, which leaves the others whole.",
    .cost = "O(GPUs).",
    .proof =
        "Exhaustive search on small clusters: no smaller cell has room, and no cell of that size "
        "is fuller (test/policy/place/buddy_test.cpp)."};

namespace {

class Buddy final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (ask.gpus() == GpuCount(0)) return candidates.first_host();
    if (!candidates.may_suffice()) return candidates.refusal();
    const Search search(trial.cluster(), candidates);
    std::vector<GpuId> gpus;
    if (const auto cell = search.smallest(candidates)) {
      search.take(*cell, candidates.wanted(), gpus);
    } else if (!candidates.needs_many_nodes() || !search.take_some(candidates.wanted(), gpus)) {
      return candidates.refusal();
    }
    return placement_on(trial.cluster(), std::move(gpus));
  }
  bool keeps_on_node() const override { return true; }

 private:
  /// How many GPUs of each cell fit.
  class Search {
   public:
    Search(const Cluster& cluster, Candidates& candidates)
        : machine_(cluster), fitting_(machine_.cells.count()) {
      std::vector<GpuId> gpus;
      for (const NodeId node : cluster.node_ids()) {
        candidates.append_fitting(node, candidates.fitting(node), gpus);
      }
      for (const GpuId gpu : gpus) {
        CellNumber cell = machine_.cells.of_gpu(gpu.value());
        for (; cell != kNoCell; cell = machine_.cells[cell].parent) ++fitting_[cell];
      }
    }

    /// A cell with enough GPUs; on one node if that can hold them.
    std::optional<CellNumber> smallest(const Candidates& candidates) const {
      std::optional<CellNumber> best;
      for (CellNumber cell = 0; cell < machine_.cells.count(); ++cell) {
        const bool is_near = candidates.needs_many_nodes() || !kind_of(cell).has_nodes;
        if (fitting_[cell] < candidates.wanted() || !is_near) continue;
        if (!best || is_better(cell, *best)) best = cell;
      }
      return best;
    }

    /// Requires: the cell has so many that fit.
    void take(CellNumber cell, std::uint32_t wanted, std::vector<GpuId>& out) const {
      if (kind_of(cell).parts == 0) return out.push_back(GpuId(machine_.cells[cell].first_gpu));
      take_of(machine_.cells.parts_of(machine_.kinds, cell), wanted, out);
    }
    /// Returns: whether there are so many.
    bool take_some(std::uint32_t wanted, std::vector<GpuId>& out) const {
      return take_of(machine_.cells.tops(), wanted, out);
    }

   private:
    const CellKind& kind_of(CellNumber cell) const {
      return machine_.kinds[machine_.cells[cell].kind];
    }
    bool take_of(std::span<const CellNumber> cells, std::uint32_t wanted,
                 std::vector<GpuId>& out) const {
      std::vector<Room> rooms;
      for (const CellNumber cell : cells) {
        if (fitting_[cell] > 0) rooms.push_back({.fitting = fitting_[cell], .place = cell});
      }
      std::ranges::stable_sort(rooms, std::greater(), &Room::fitting);
      return take_fewest(
          std::span<const Room>(rooms), wanted,
          [&](const Room& room, std::uint32_t part) { take(room.place, part, out); });
    }
    /// By size, then by what fits, in it, in the cell around it, and so on; then by place.
    bool is_better(CellNumber one, CellNumber other) const {
      if (kind_of(one).gpus != kind_of(other).gpus) return kind_of(one).gpus < kind_of(other).gpus;
      while (one != kNoCell && other != kNoCell) {
        if (fitting_[one] != fitting_[other]) return fitting_[one] < fitting_[other];
        one = machine_.cells[one].parent;
        other = machine_.cells[other].parent;
      }
      return false;
    }

    ClusterCells machine_;
    std::vector<std::uint32_t> fitting_;  ///< By cell.
  };
};

}  // namespace

std::unique_ptr<Placer> buddy(const Keys&) { return std::make_unique<Buddy>(); }

}  // namespace berth
