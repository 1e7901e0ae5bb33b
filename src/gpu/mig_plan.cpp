#include "gpu/mig_plan.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>

namespace berth {

namespace {

using Slices = std::uint64_t;  // bit i: slice i is taken

constexpr std::uint32_t kMostSlices = 64;

/// Nothing for what is no interval.
std::optional<Slices> slices_of(std::uint32_t start, std::uint32_t size) {
  if (size == 0 || size >= kMostSlices || start > kMostSlices - size) return std::nullopt;
  return ((Slices{1} << size) - 1) << start;
}

/// Fewest legal starts first, larger first among equals.
std::vector<std::size_t> hardest_first(std::span<const MigShape> wanted) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t one, std::size_t other) {
    const MigShape& first = wanted[one];
    const MigShape& second = wanted[other];
    if (first.starts.size() != second.starts.size()) {
      return first.starts.size() < second.starts.size();
    }
    return first.size > second.size;
  });
  return order;
}

bool place(std::span<const MigShape> wanted, std::span<const std::size_t> left, Slices taken,
           std::vector<std::uint32_t>& starts) {
  if (left.empty()) return true;
  const MigShape& shape = wanted[left.front()];
  for (const std::uint32_t start : std::views::reverse(shape.starts)) {
    const auto slices = slices_of(start, shape.size);
    if (!slices || (taken & *slices) != 0) continue;
    starts[left.front()] = start;
    if (place(wanted, left.subspan(1), taken | *slices, starts)) return true;
  }
  return false;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> pack_mig(std::span<const MigShape> wanted,
                                                   std::span<const MigPlace> taken) {
  Slices used = 0;
  for (const MigPlace& other : taken) used |= slices_of(other.start, other.size).value_or(0);
  std::vector<std::uint32_t> starts(wanted.size());
  if (!place(wanted, hardest_first(wanted), used, starts)) return std::nullopt;
  return starts;
}

}  // namespace berth
