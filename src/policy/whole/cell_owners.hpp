// Who owns which cells of a machine: the virtual clusters of users.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "policy/kit/cells.hpp"

namespace berth {

struct CellOwners {
  std::vector<std::vector<KindNumber>> cells = {};  ///< By virtual cluster.
  std::map<UserId, std::uint32_t> of_user = {};
  std::optional<std::uint32_t> of_others = {};  ///< Of users who are not among these.

  /// The virtual cluster of a user, if it owns any cell.
  std::optional<std::uint32_t> of(UserId user) const;
};

/// `owned` has users and the GPUs of a cell in turn (KeyType::Cells). Cells that are not left are
/// passed over; what is left in the end is owned by all other users together.
CellOwners owners_by_list(std::span<const std::int64_t> owned, const ClusterCells& machine);

/// Each user owns the largest cells that make up GPUs x weight / all weights, one GPU at least, as
/// far as they are left. Requires: weights above 0.
CellOwners owners_by_weight(const std::map<UserId, std::int64_t>& weights,
                            const ClusterCells& machine);

}  // namespace berth
