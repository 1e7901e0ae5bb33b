// What connects two GPUs of one node, and how far apart that makes them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace berth {

/// What lies between two GPUs on the bus; smaller is nearer.
enum class Nearness : std::uint8_t {
  SameBoard,
  OneSwitch,
  SeveralSwitches,
  HostBridge,
  MemoryNode,
  System,
};

/// The path between two GPUs, by their places on the node; one < other.
struct Link {
  std::uint32_t one = 0;
  std::uint32_t other = 0;
  std::optional<Nearness> nearness;
  std::uint32_t nvlinks = 0;  ///< Active ones, direct or by a switch.

  bool operator==(const Link&) const = default;
};

inline constexpr std::uint32_t kMostNvlinks = 64;  ///< Of one GPU; Hopper has 18.

/// A path of which nothing is known counts as the longest.
inline constexpr std::uint16_t kFarthest = 10'000;

/// How far apart they are: a rank with rough proportions, not a measurement. NVLinks come first,
/// the more the nearer; then what lies between on the bus, and processors' memory last.
constexpr std::uint16_t distance_of(const Link& link) {
  constexpr std::uint32_t kOneNvlink = 3200;
  if (link.nvlinks > 0) return static_cast<std::uint16_t>(kOneNvlink / link.nvlinks);
  if (!link.nearness) return kFarthest;
  switch (*link.nearness) {
    case Nearness::SameBoard:
      return 3600;
    case Nearness::OneSwitch:
      return 4000;
    case Nearness::SeveralSwitches:
      return 5000;
    case Nearness::HostBridge:
      return 6000;
    case Nearness::MemoryNode:
      return 8000;
    case Nearness::System:
      break;
  }
  return kFarthest;
}

/// `4 NVLinks`, `one PCIe switch`, `different memory nodes`.
std::string text_of(const Link& link);

/// GPUs of one node among which links are known, at most: distances are kept for each two.
inline constexpr std::uint32_t kMostLinked = 64;

/// True if these can be links among so many GPUs: each pair once, ascending.
bool are_links(std::span<const Link> links, std::uint32_t gpus);

}  // namespace berth
