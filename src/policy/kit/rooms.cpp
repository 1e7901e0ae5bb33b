#include "policy/kit/rooms.hpp"

#include <algorithm>

namespace berth {

namespace {

std::vector<Room> rooms_by_index(std::uint32_t from, std::uint32_t end, const Trial& trial) {
  std::vector<Room> found;
  for (std::uint32_t vacant = trial.cluster().largest_node(); vacant > 0; --vacant) {
    const NodeSet& nodes = trial.use().nodes_with(vacant);
    for (NodeId node = nodes.next(NodeId(from), NodeId(end)); node < NodeId(end);
         node = nodes.next(NodeId(node.value() + 1), NodeId(end))) {
      found.push_back({vacant, node.value()});
    }
  }
  return found;
}

}  // namespace

std::vector<Room> rooms_of(std::span<const NodeSpec> nodes, const Trial& trial,
                           Candidates& candidates) {
  const auto from = static_cast<std::uint32_t>(nodes.data() - trial.cluster().nodes().data());
  const std::uint32_t end = from + static_cast<std::uint32_t>(nodes.size());
  if (candidates.are_the_vacant()) return rooms_by_index(from, end, trial);
  std::vector<Room> found;
  for (NodeId node = candidates.next_node(NodeId(from), NodeId(end)); node < NodeId(end);
       node = candidates.next_node(NodeId(node.value() + 1), NodeId(end))) {
    const std::uint32_t fitting = candidates.fitting(node);
    if (fitting > 0) found.push_back({fitting, node.value()});
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &Room::fitting);
  return found;
}

std::uint32_t room_in(std::span<const Room> rooms) {
  std::uint32_t sum = 0;
  for (const Room& room : rooms) sum += room.fitting;
  return sum;
}

const Room& tightest(std::span<const Room> rooms, std::uint32_t enough) {
  const auto past =
      std::ranges::lower_bound(rooms, enough, std::ranges::greater_equal(), &Room::fitting);
  const std::uint32_t fewest = (past - 1)->fitting;
  return *std::ranges::find(rooms, fewest, &Room::fitting);
}

bool append_fewest(std::span<const Room> nodes, std::uint32_t wanted, Candidates& candidates,
                   std::vector<GpuId>& out) {
  return take_fewest(nodes, wanted, [&](const Room& room, std::uint32_t gpus) {
    candidates.append_fitting(NodeId(room.place), gpus, out);
  });
}

}  // namespace berth
