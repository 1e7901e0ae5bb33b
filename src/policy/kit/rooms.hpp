// Jobs larger than a node: as few nodes as possible, the last part on the tightest node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/kit/candidates.hpp"

namespace berth {

/// Something with room for some of a job's GPUs: a node or a switch, by its position.
struct Room {
  std::uint32_t fitting;
  std::uint32_t place;
};

/// The nodes with room among these, most room first, ties by id. O(found + nodes / 64) for
/// jobs that take whole GPUs, else O(GPUs).
std::vector<Room> rooms_of(std::span<const NodeSpec> nodes, const Trial& trial,
                           Candidates& candidates);

/// The number of GPUs that fit in all of them.
std::uint32_t room_in(std::span<const Room> rooms);

/// The first of the rooms with the least room that is enough. Requires: descending rooms, of which
/// the first is enough.
const Room& tightest(std::span<const Room> rooms, std::uint32_t enough);

/// Calls take(room, GPUs) for rooms from the largest on until only so many are missing that one
/// room holds them; that part goes to the tightest. Requires: descending rooms.
/// Returns: whether there were enough.
template <class Take>
bool take_fewest(std::span<const Room> rooms, std::uint32_t wanted, Take take) {
  for (; !rooms.empty(); rooms = rooms.subspan(1)) {
    if (rooms.front().fitting >= wanted) {
      take(tightest(rooms, wanted), wanted);
      return true;
    }
    take(rooms.front(), rooms.front().fitting);
    wanted -= rooms.front().fitting;
  }
  return false;
}

/// Takes `wanted` GPUs on the fewest of these nodes. Returns: whether there were enough.
bool append_fewest(std::span<const Room> nodes, std::uint32_t wanted, Candidates& candidates,
                   std::vector<GpuId>& out);

/// The GPUs that `choose(rooms, out)` takes under the first switch with enough room, else in the
/// whole cluster. Its rooms are nodes, most room first, and together enough.
template <class Choose>
Placed place_near(const Trial& trial, Candidates& candidates, Choose choose) {
  if (!candidates.may_suffice()) return candidates.refusal();
  const Cluster& cluster = trial.cluster();
  const auto gather = [&](std::span<const NodeSpec> nodes) {
    const std::vector<Room> rooms = rooms_of(nodes, trial, candidates);
    std::vector<GpuId> gpus;
    if (room_in(rooms) >= candidates.wanted()) choose(std::span(rooms), gpus);
    return gpus;
  };
  for (std::uint32_t s = 0; s < cluster.switches(); ++s) {
    auto gpus = gather(cluster.nodes_of(SwitchId(s)));
    if (!gpus.empty()) return placement_on(cluster, std::move(gpus));
  }
  auto gpus = gather(cluster.nodes());
  if (gpus.empty()) return candidates.refusal();
  return placement_on(cluster, std::move(gpus));
}

}  // namespace berth
