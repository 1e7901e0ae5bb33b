#include "policy/whole/cell_owners.hpp"

#include <algorithm>

namespace berth {

std::optional<std::uint32_t> CellOwners::of(UserId user) const {
  const auto found = of_user.find(user);
  const auto cluster = found == of_user.end() ? of_others : std::optional(found->second);
  return cluster && !cells[*cluster].empty() ? cluster : std::nullopt;
}

CellOwners owners_by_list(std::span<const std::int64_t> owned, const ClusterCells& machine) {
  CellOwners owners;
  CellStock stock(machine);
  for (; owned.size() >= 2; owned = owned.subspan(2)) {
    const UserId user(static_cast<std::uint32_t>(owned[0]));
    const auto next = static_cast<std::uint32_t>(owners.cells.size());
    const auto [entry, is_new] = owners.of_user.try_emplace(user, next);
    if (is_new) owners.cells.emplace_back();
    const auto gpus = static_cast<std::uint32_t>(owned[1]);
    if (const auto kind = stock.take(gpus, gpus)) owners.cells[entry->second].push_back(*kind);
  }
  owners.of_others = static_cast<std::uint32_t>(owners.cells.size());
  owners.cells.emplace_back();
  while (const auto kind = stock.take(1, machine.cells.gpus())) {
    owners.cells.back().push_back(*kind);
  }
  return owners;
}

CellOwners owners_by_weight(const std::map<UserId, std::int64_t>& weights,
                            const ClusterCells& machine) {
  CellOwners owners;
  CellStock stock(machine);
  std::int64_t all = 0;
  for (const auto& [user, weight] : weights) all += weight;
  for (const auto& [user, weight] : weights) {
    owners.of_user[user] = static_cast<std::uint32_t>(owners.cells.size());
    owners.cells.emplace_back();
    const std::int64_t gpus = machine.cells.gpus() * weight / all;
    auto left = static_cast<std::uint32_t>(std::max(std::int64_t{1}, gpus));
    while (const auto kind = stock.take(1, left)) {
      owners.cells.back().push_back(*kind);
      left -= machine.kinds[*kind].gpus;
    }
  }
  return owners;
}

}  // namespace berth
