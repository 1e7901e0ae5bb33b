#include "core/link.hpp"

#include <utility>

namespace berth {

std::string text_of(const Link& link) {
  if (link.nvlinks > 0) {
    return std::to_string(link.nvlinks) + (link.nvlinks == 1 ? " NVLink" : " NVLinks");
  }
  if (!link.nearness) return "unknown";
  switch (*link.nearness) {
    case Nearness::SameBoard:
      return "one board";
    case Nearness::OneSwitch:
      return "one PCIe switch";
    case Nearness::SeveralSwitches:
      return "several PCIe switches";
    case Nearness::HostBridge:
      return "one PCIe host bridge";
    case Nearness::MemoryNode:
      return "one memory node";
    case Nearness::System:
      break;
  }
  return "different memory nodes";
}

bool are_links(std::span<const Link> links, std::uint32_t gpus) {
  if (!links.empty() && gpus > kMostLinked) return false;
  const Link* last = nullptr;
  for (const Link& link : links) {
    const auto pair = std::pair(link.one, link.other);
    if (last != nullptr && pair <= std::pair(last->one, last->other)) return false;
    if (link.one >= link.other || link.other >= gpus || link.nvlinks > kMostNvlinks) return false;
    last = &link;
  }
  return true;
}

}  // namespace berth
