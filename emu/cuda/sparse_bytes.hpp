// What programs copy to device memory and may want back, up to a budget of host memory. Beyond the
// budget bytes are dropped and read as 0, like those never written: an emulated 80 GiB card must
// not need 80 GiB.
//
// Thread-safety: none; the driver's lock covers it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "emu/cuda/abi.hpp"

namespace berth::emu {

class SparseBytes {
 public:
  static constexpr std::size_t kBudgetBytes = 32ULL << 20;  // per process

  void write(CudaAddress address, const void* source, std::size_t bytes);
  void read(CudaAddress address, void* target, std::size_t bytes) const;
  /// Repeats `pattern` (1, 2 or 4 bytes) over the range.
  void fill(CudaAddress address, const void* pattern, std::size_t pattern_bytes, std::size_t bytes);
  void copy(CudaAddress target, CudaAddress source, std::size_t bytes);
  /// Forgets the range.
  void erase(CudaAddress address, std::size_t bytes);

 private:
  static constexpr std::size_t kPage = 4096;
  using Page = std::array<std::byte, kPage>;

  template <class Use>
  void for_each_piece(CudaAddress address, std::size_t bytes, const Use& use) const;
  Page* page_for_write(std::uint64_t number);

  std::map<std::uint64_t, Page> pages_;
};

}  // namespace berth::emu
