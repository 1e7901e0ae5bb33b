#include "emu/cuda/visible.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace berth::emu {
namespace {

std::vector<std::uint32_t> ordered(const std::vector<Candidate>& candidates, DeviceOrder order) {
  std::vector<std::uint32_t> indices(candidates.size());
  std::iota(indices.begin(), indices.end(), 0U);
  const bool has_whole = std::ranges::any_of(
      candidates, [](const Candidate& candidate) { return !candidate.is_instance(); });
  if (has_whole) {
    std::erase_if(indices, [&](std::uint32_t index) { return candidates[index].is_instance(); });
  }
  if (order == DeviceOrder::FastestFirst) {
    std::ranges::sort(indices, [&](std::uint32_t one, std::uint32_t other) {
      const auto one_bytes = candidates[one].total_bytes;
      const auto other_bytes = candidates[other].total_bytes;
      return one_bytes != other_bytes ? one_bytes > other_bytes : one < other;
    });
  }
  return indices;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<std::uint32_t> by_uuid(const std::vector<Candidate>& candidates,
                                     std::string_view prefix) {
  std::optional<std::uint32_t> found;
  for (std::uint32_t index = 0; index < candidates.size(); ++index) {
    if (!candidates[index].uuid.starts_with(prefix)) continue;
    if (found) return std::nullopt;  // fits two: names neither
    found = index;
  }
  return found;
}

std::optional<std::uint32_t> by_ordinal(const std::vector<std::uint32_t>& order,
                                        std::string_view text) {
  std::uint32_t ordinal = 0;
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, ordinal);
  if (parsed.ec != std::errc{} || parsed.ptr != end || ordinal >= order.size()) return std::nullopt;
  return order[ordinal];
}

/// Of MIG instances only the first counts, and then nothing else does.
std::vector<std::uint32_t> without_second_instance(const std::vector<Candidate>& candidates,
                                                   const std::vector<std::uint32_t>& chosen) {
  const auto instance = std::ranges::find_if(
      chosen, [&](std::uint32_t index) { return candidates[index].is_instance(); });
  if (instance == chosen.end()) return chosen;
  return {*instance};
}

}  // namespace

DeviceOrder parse_order(std::optional<std::string_view> variable) {
  return variable == "PCI_BUS_ID" ? DeviceOrder::PciBusId : DeviceOrder::FastestFirst;
}

std::vector<std::uint32_t> visible_gpus(const std::vector<Candidate>& candidates,
                                        std::optional<std::string_view> visible,
                                        DeviceOrder order) {
  const auto all = ordered(candidates, order);
  if (!visible) return without_second_instance(candidates, all);
  std::vector<std::uint32_t> chosen;
  for (std::string_view rest = *visible;;) {
    const auto comma = rest.find(',');
    const auto entry = trimmed(rest.substr(0, comma));
    const auto gpu = entry.starts_with("GPU-") || entry.starts_with("MIG-")
                         ? by_uuid(candidates, entry)
                         : by_ordinal(all, entry);
    if (!gpu) return without_second_instance(candidates, chosen);
    if (std::ranges::find(chosen, *gpu) != chosen.end()) return {};
    chosen.push_back(*gpu);
    if (comma == std::string_view::npos) return without_second_instance(candidates, chosen);
    rest = rest.substr(comma + 1);
  }
}

}  // namespace berth::emu
