#include "emu/cuda/sparse_bytes.hpp"

#include <algorithm>
#include <cstring>

namespace berth::emu {

/// Cuts a range at page borders: use(page number, offset in the page, offset in the range, bytes).
/// Stops when `use` returns false.
template <class Use>
void SparseBytes::for_each_piece(CudaAddress address, std::size_t bytes, const Use& use) const {
  for (std::size_t done = 0; done < bytes;) {
    const auto offset = (address + done) % kPage;
    const auto piece = std::min(kPage - offset, bytes - done);
    if (!use((address + done) / kPage, offset, done, piece)) return;
    done += piece;
  }
}

SparseBytes::Page* SparseBytes::page_for_write(std::uint64_t number) {
  const auto found = pages_.find(number);
  if (found != pages_.end()) return &found->second;
  if (pages_.size() >= kBudgetBytes / kPage) return nullptr;
  return &pages_.emplace(number, Page{}).first->second;
}

void SparseBytes::write(CudaAddress address, const void* source, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(source);
  for_each_piece(address, bytes, [&](auto number, auto offset, auto done, auto piece) {
    // Past the budget the rest is dropped: pages that exist further on keep what they had.
    auto* page = page_for_write(number);
    if (page != nullptr) std::memcpy(page->data() + offset, from + done, piece);
    return page != nullptr;
  });
}

void SparseBytes::read(CudaAddress address, void* target, std::size_t bytes) const {
  auto* to = static_cast<std::byte*>(target);
  for_each_piece(address, bytes, [&](auto number, auto offset, auto done, auto piece) {
    const auto found = pages_.find(number);
    if (found == pages_.end()) {
      std::memset(to + done, 0, piece);
    } else {
      std::memcpy(to + done, found->second.data() + offset, piece);
    }
    return true;
  });
}

void SparseBytes::fill(CudaAddress address, const void* pattern, std::size_t pattern_bytes,
                       std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(pattern);
  const bool zero =
      std::all_of(from, from + pattern_bytes, [](std::byte b) { return b == std::byte{0}; });
  if (zero) return erase(address, bytes);
  for_each_piece(address, bytes, [&](auto number, auto offset, auto done, auto piece) {
    auto* page = page_for_write(number);
    if (page == nullptr) return false;
    for (std::size_t index = 0; index < piece; ++index) {
      (*page)[offset + index] = from[(done + index) % pattern_bytes];
    }
    return true;
  });
}

void SparseBytes::copy(CudaAddress target, CudaAddress source, std::size_t bytes) {
  Page buffer;
  for_each_piece(source, bytes, [&](auto, auto offset, auto done, auto piece) {
    read(source + done, buffer.data() + offset, piece);
    write(target + done, buffer.data() + offset, piece);
    return true;
  });
}

void SparseBytes::erase(CudaAddress address, std::size_t bytes) {
  auto page = pages_.lower_bound(address / kPage);
  while (page != pages_.end() && page->first * kPage < address + bytes) {
    const auto start = page->first * kPage;
    const auto from = std::max(start, address) - start;
    const auto to = std::min(start + kPage, address + bytes) - start;
    if (to - from == kPage) {
      page = pages_.erase(page);
    } else {
      std::fill(page->second.begin() + static_cast<std::ptrdiff_t>(from),
                page->second.begin() + static_cast<std::ptrdiff_t>(to), std::byte{0});
      ++page;
    }
  }
}

}  // namespace berth::emu
