// Device addresses of one GPU in one process. They are numbers only: nothing is mapped there, so a
// host access faults as it does with a real card.
//
// Thread-safety: none; the driver's lock covers it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "emu/cuda/abi.hpp"

namespace berth::emu {

struct Allocation {
  std::uint64_t bytes = 0;         // as asked for
  const Context* owner = nullptr;  // destroyed with it
};

/// One allocation and where it begins.
struct Placed {
  CudaAddress base = 0;
  Allocation allocation;
};

class AddressSpace {
 public:
  AddressSpace(CudaAddress begin, CudaAddress end) : begin_(begin), end_(end), cursor_(begin) {}

  /// A fresh range, not reused before the space has been walked through once: a use after free is
  /// an error then. nullopt: no gap is large enough.
  std::optional<CudaAddress> reserve(const Allocation& allocation, std::uint64_t alignment);

  /// The allocation that holds the address.
  std::optional<Placed> find(CudaAddress address) const;

  /// Some allocation of the owner.
  std::optional<Placed> any_of(const Context* owner) const;

  /// Requires: an allocation begins there.
  void release(CudaAddress base) { allocations_.erase(base); }

 private:
  std::optional<CudaAddress> gap(CudaAddress from, std::uint64_t bytes,
                                 std::uint64_t alignment) const;

  CudaAddress begin_;
  CudaAddress end_;
  CudaAddress cursor_;
  std::map<CudaAddress, Allocation> allocations_;
};

}  // namespace berth::emu
