#include "gpu/nvml_links.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <optional>

namespace berth::nvml {

namespace {

struct Address {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t device = 0;

  auto operator<=>(const Address&) const = default;
};

Address address_of(const Pci& pci) { return {pci.domain, pci.bus, pci.device}; }

/// The active NVLinks of one GPU, by where they lead.
struct Ends {
  std::optional<Address> own;
  std::map<Address, std::uint32_t> direct;
  std::uint32_t to_switches = 0;
};

/// Adds the link's other end. What cannot be found out is left out.
void add_end(const Api& api, const Gpu& gpu, std::uint32_t link, Ends& ends) {
  std::uint32_t remote = 0;
  const Result type = api.nvlink_remote_type(gpu.handle, link, &remote);
  if (type == Result::Success && remote == kRemoteSwitch) {
    ++ends.to_switches;
    return;
  }
  Pci pci{};
  if (api.nvlink_remote_pci(gpu.handle, link, &pci) == Result::Success) {
    ++ends.direct[address_of(pci)];
  }
}

Ends read_ends(const Api& api, const Gpu& gpu) {
  Ends ends;
  Pci pci{};
  if (api.pci(gpu.handle, &pci) == Result::Success) ends.own = address_of(pci);
  for (std::uint32_t link = 0; link < kMostNvlinks; ++link) {
    std::uint32_t is_active = 0;
    const Result result = api.nvlink_state(gpu.handle, link, &is_active);
    // A link that is not wired answers "not supported", one past the last "invalid argument".
    if (result == Result::InvalidArgument || result == Result::FunctionNotFound) break;
    if (result == Result::Success && is_active == 1) add_end(api, gpu, link, ends);
  }
  return ends;
}

std::uint32_t nvlinks_between(const Ends& one, const Ends& other) {
  const auto direct = other.own ? one.direct.find(*other.own) : one.direct.end();
  const std::uint32_t wired = direct == one.direct.end() ? 0 : direct->second;
  return wired + std::min(one.to_switches, other.to_switches);
}

std::optional<Nearness> nearness_of(int level) {
  switch (level) {
    case kSameBoard:
      return Nearness::SameBoard;
    case kOneSwitch:
      return Nearness::OneSwitch;
    case kSeveralSwitches:
      return Nearness::SeveralSwitches;
    case kHostBridge:
      return Nearness::HostBridge;
    case kMemoryNode:
      return Nearness::MemoryNode;
    case kSystem:
      return Nearness::System;
    default:
      return std::nullopt;
  }
}

std::optional<Nearness> read_nearness(const Api& api, const Gpu& one, const Gpu& other) {
  int level = 0;
  const Result result = api.common_ancestor(one.handle, other.handle, &level);
  return result == Result::Success ? nearness_of(level) : std::nullopt;
}

}  // namespace

std::vector<Link> read_links(const Api& api, std::span<const Gpu> gpus) {
  std::vector<Ends> ends;
  for (const Gpu& gpu : gpus) ends.push_back(read_ends(api, gpu));
  std::vector<Link> links;
  for (std::size_t one = 0; one < gpus.size(); ++one) {
    for (std::size_t other = one + 1; other < gpus.size(); ++other) {
      const Link link{.one = gpus[one].index,
                      .other = gpus[other].index,
                      .nearness = read_nearness(api, gpus[one], gpus[other]),
                      .nvlinks = nvlinks_between(ends[one], ends[other])};
      if (link.nearness || link.nvlinks > 0) links.push_back(link);
    }
  }
  return links;
}

}  // namespace berth::nvml
