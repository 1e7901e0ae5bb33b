// Virtual clusters of cells, exactly as HiveD has them (Zhao et al., OSDI 2020;
// microsoft/hivedscheduler, commit 66f26ac47b). A virtual cluster owns cells, not GPUs: which cells
// of the machine they are is decided when its gangs need them, and by buddy allocation, so that
// each virtual cluster always gets what it owns, in the shape that it owns it.
//
// A guaranteed gang runs within the cells of its virtual cluster, and takes GPUs from gangs of
// lower priority there and from opportunistic gangs anywhere. An opportunistic gang takes free
// GPUs of any cell. Knows neither the engine nor the time. A value: copy it to try something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "policy/kit/cells.hpp"

namespace berth {

/// Pods that start together, or not at all. Each is on one node.
struct Gang {
  JobId id;
  std::uint32_t cluster = 0;        ///< The virtual cluster.
  std::int32_t priority = 0;        ///< Below 0: opportunistic.
  std::vector<std::uint32_t> pods;  ///< GPUs of each.
};

/// GPUs that a gang has, those of its pods in turn.
struct GangPlace {
  std::uint32_t cluster = 0;
  std::int32_t priority = 0;
  bool stays = false;  ///< It gives way to no other gang.
  std::vector<std::uint32_t> gpus = {};
  std::vector<std::uint32_t> virtual_gpus = {};  ///< Which these are; of opportunistic gangs none.

  bool is_opportunistic() const { return priority < 0; }
  bool operator==(const GangPlace&) const = default;
};

/// True for a gang that loses its GPUs if `other` needs one of them.
bool gives_way(const GangPlace& place, const Gang& other);

struct GangChoice {
  std::vector<std::uint32_t> gpus = {};          ///< Of the machine, those of its pods in turn.
  std::vector<std::uint32_t> virtual_gpus = {};  ///< Of opportunistic gangs none.
  std::vector<JobId> evicted = {};               ///< The gangs that lose all their GPUs.
};

class VirtualClusters {
 public:
  /// Whether the gang can have these GPUs of one node, if nobody of lower priority has them.
  using Fits = std::function<bool(std::span<const std::uint32_t> gpus)>;

  /// Each virtual cluster is a list of kinds of cells. Requires: the machine has them all at once.
  VirtualClusters(ClusterCells machine, std::span<const std::vector<KindNumber>> clusters);

  /// Finds GPUs for a gang that has none. Returns: nothing if it must wait. Cost: O(GPUs log GPUs),
  /// and as much again for each GPU that was found and does not fit.
  std::optional<GangChoice> choose(const Gang& gang, const Fits& fits);
  /// Requires: nothing has changed since it was chosen.
  void take(const Gang& gang, const GangChoice& choice);
  /// Gives a gang GPUs that it had before. Returns: whether they, and its virtual GPUs, are free.
  bool put(JobId id, const GangPlace& place);
  /// Does nothing if the gang has no GPUs.
  void remove(JobId id);

  std::uint32_t count() const { return static_cast<std::uint32_t>(tops_.size()); }
  /// Those of this virtual cluster have this number and the next ones. Requires: it owns a cell.
  std::uint32_t first_virtual_gpu(std::uint32_t cluster) const {
    return owned_[tops_[cluster].front()].first_gpu;
  }
  /// GPUs of each node, or part of one, that it owns; the largest first.
  std::vector<std::uint32_t> node_sizes(std::uint32_t cluster) const;

  /// GPUs of the machine that no gang has.
  std::uint32_t free_gpus() const;

  /// Null if it has no GPUs.
  const GangPlace* find(JobId id) const;
  const std::map<JobId, GangPlace>& gangs() const { return gangs_; }

 private:
  using Numbers = std::vector<std::uint32_t>;
  using FreeLists = std::vector<std::vector<CellNumber>>;  ///< By kind.
  enum class Users : std::uint8_t { Guaranteed, Opportunistic };

  /// A cell of a virtual cluster that needs one of the machine, with its parts that do.
  struct Needed {
    CellNumber cell;
    std::vector<std::size_t> parts;  ///< In NeededTrees::all.
  };
  struct NeededTrees {
    std::vector<Needed> all;
    std::vector<std::size_t> tops;  ///< Whole cells that the virtual cluster owns.
    /// Those below a cell that has one, by that.
    std::vector<std::pair<CellNumber, std::vector<std::size_t>>> below;
  };
  /// A search for GPUs that fit: of the machine by those of the virtual cluster.
  struct Search {
    const Fits& fits;
    NeededTrees trees = {};
    FreeLists free = {};
    std::map<std::uint32_t, std::uint32_t> found = {};
  };

  std::optional<Numbers> find_free(const Gang& gang, const Fits& fits, const Numbers& barred);
  std::optional<Numbers> find_virtual(const Gang& gang, const Fits& fits, const Numbers& barred);
  bool may_fit(std::uint32_t virtual_gpu, const Fits& fits) const;
  NeededTrees needed_by(const Numbers& virtual_gpus) const;
  std::expected<Numbers, std::uint32_t> map_all(const Numbers& virtual_gpus,
                                                const Fits& fits) const;
  bool allocate(Search& search, std::size_t top, KindNumber from) const;
  /// Nothing if all got a cell, else the one that did not.
  std::optional<std::size_t> map_each(Search& search, std::span<const std::size_t> needed,
                                      const std::vector<CellNumber>& candidates) const;
  bool map_to(Search& search, std::size_t needed, CellNumber cell) const;
  static void append_found(const Search& search, std::size_t needed, const Cells& owned,
                           Numbers& out);
  std::vector<CellNumber> usable(std::vector<CellNumber> candidates) const;
  std::optional<std::size_t> misfit(const Numbers& gpus, const Fits& fits) const;

  CellNumber virtual_cell_for(CellNumber cell, std::uint32_t cluster, KindNumber top) const;
  void bind(std::uint32_t gpu, std::uint32_t virtual_gpu);
  void free_gpu(std::uint32_t gpu);
  void take_off_lists(CellNumber cell);
  void return_to_lists(CellNumber cell);
  bool can_bind(std::uint32_t cluster, std::uint32_t gpu, std::uint32_t virtual_gpu) const;
  bool is_free(CellNumber cell) const;

  std::uint32_t used_in(CellNumber cell, Users users) const;
  std::uint32_t used_of_owned(CellNumber cell) const;
  CellNumber node_of(std::uint32_t gpu) const;

  ClusterCells machine_;
  Cells owned_;                                ///< Of all virtual clusters, one after the other.
  std::vector<std::vector<CellNumber>> tops_;  ///< Of these, by virtual cluster.
  std::vector<CellNumber> nodes_;              ///< Of the machine, in the order of the last search.
  std::vector<std::vector<CellNumber>> views_;  ///< The same of each virtual cluster.
  FreeLists free_;
  std::vector<bool> is_split_;          ///< By cell of the machine.
  std::vector<CellNumber> virtual_of_;  ///< Bound to it, by cell of the machine.
  std::vector<CellNumber> cell_of_;     ///< The other way round.
  std::vector<JobId> holder_;           ///< By GPU; 0: none.
  std::map<JobId, GangPlace> gangs_;
};

}  // namespace berth
