#include "emu/cuda/address_space.hpp"

#include <algorithm>
#include <iterator>

namespace berth::emu {
namespace {

CudaAddress aligned(CudaAddress address, std::uint64_t alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

}  // namespace

std::optional<CudaAddress> AddressSpace::reserve(const Allocation& allocation,
                                                 std::uint64_t alignment) {
  auto base = gap(cursor_, allocation.bytes, alignment);
  if (!base) base = gap(begin_, allocation.bytes, alignment);
  if (!base) return std::nullopt;
  allocations_.emplace(*base, allocation);
  cursor_ = *base + allocation.bytes;
  return base;
}

std::optional<CudaAddress> AddressSpace::gap(CudaAddress from, std::uint64_t bytes,
                                             std::uint64_t alignment) const {
  auto base = aligned(from, alignment);
  auto next = allocations_.lower_bound(base);
  if (next != allocations_.begin()) {
    const auto& [before, allocation] = *std::prev(next);
    base = std::max(base, aligned(before + allocation.bytes, alignment));
  }
  for (;; ++next) {
    const auto limit = next == allocations_.end() ? end_ : next->first;
    if (base < limit && limit - base >= bytes) return base;
    if (next == allocations_.end()) return std::nullopt;
    base = std::max(base, aligned(next->first + next->second.bytes, alignment));
  }
}

std::optional<Placed> AddressSpace::find(CudaAddress address) const {
  auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin()) return std::nullopt;
  const auto& [base, allocation] = *--next;
  if (address - base >= allocation.bytes) return std::nullopt;
  return Placed{base, allocation};
}

std::optional<Placed> AddressSpace::any_of(const Context* owner) const {
  const auto found = std::ranges::find_if(
      allocations_, [&](const auto& entry) { return entry.second.owner == owner; });
  if (found == allocations_.end()) return std::nullopt;
  return Placed{found->first, found->second};
}

}  // namespace berth::emu
