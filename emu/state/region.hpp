// The mapped state file. Opening checks everything a reader relies on, once.
//
// Thread-safety: a Region is a handle; moving it is not thread-safe, the layout behind it is.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <string>

#include "emu/emulator.hpp"
#include "emu/state/layout.hpp"

namespace berth::emu {

enum class OpenFailure { Missing, Denied, NotAState, OtherVersion, EarlierBoot };

struct OpenError {
  OpenFailure failure;
  std::string message;  // names the path and what was wrong
};

class Region {
 public:
  static std::expected<Region, OpenError> open(const std::string& path);

  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;
  ~Region();

  Layout& layout() const { return *layout_; }
  /// Number of GPUs, read once: the file is writable by every tenant.
  std::uint32_t gpu_count() const { return gpu_count_; }

 private:
  explicit Region(Layout* layout) : layout_(layout), gpu_count_(layout->header.gpu_count) {}

  Layout* layout_;
  std::uint32_t gpu_count_;
};

/// Fills a fresh all-zero layout. Requires: the spec is valid.
void fill(Layout& layout, const Spec& spec);

/// The identity of this boot, or "" where the kernel does not say.
std::string boot_id();

}  // namespace berth::emu
