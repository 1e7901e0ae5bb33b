#include "emu/nvml/session.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace berth::emu {
namespace {

/// NVML is one per process by its interface, so this is one of the two places with process-wide
/// state (the other is the CUDA driver object).
struct Process {
  std::mutex mutex;
  std::shared_ptr<Region> region;
  unsigned users = 0;
};

Process& process() {
  // Never destroyed: threads may still be in a call while the process exits.
  static Process* const only = new Process;
  return *only;
}

NvmlResult result_of(OpenFailure failure) {
  switch (failure) {
    case OpenFailure::Denied:
      return NvmlResult::NoPermission;
    case OpenFailure::OtherVersion:
      return NvmlResult::LibraryVersionMismatch;
    case OpenFailure::Missing:
    case OpenFailure::NotAState:
    case OpenFailure::EarlierBoot:
      return NvmlResult::DriverNotLoaded;
  }
  std::abort();
}

constexpr std::array<char, kMaxGpus> kHandles{};

}  // namespace

std::shared_ptr<Region> session() {
  auto& state = process();
  const std::lock_guard lock(state.mutex);
  return state.region;
}

NvmlResult open_session() {
  auto& state = process();
  const std::lock_guard lock(state.mutex);
  if (state.users == 0) {
    const char* path = std::getenv("BERTH_EMU_STATE");
    auto region = Region::open(path == nullptr ? "BERTH_EMU_STATE (not set)" : path);
    if (!region) {
      std::fprintf(stderr, "berth emulated NVML: %s\n", region.error().message.c_str());
      return result_of(region.error().failure);
    }
    state.region = std::make_shared<Region>(std::move(*region));
  }
  ++state.users;
  return NvmlResult::Success;
}

NvmlResult close_session() {
  auto& state = process();
  const std::lock_guard lock(state.mutex);
  if (state.users == 0) return NvmlResult::Uninitialized;
  if (--state.users == 0) state.region.reset();
  return NvmlResult::Success;
}

NvmlDevice handle_of(std::uint32_t gpu) {
  return reinterpret_cast<NvmlDevice>(const_cast<char*>(&kHandles[gpu]));
}

std::uint32_t gpu_of(NvmlDevice handle) {
  const auto offset =
      reinterpret_cast<std::uintptr_t>(handle) - reinterpret_cast<std::uintptr_t>(kHandles.data());
  return offset < kMaxGpus ? static_cast<std::uint32_t>(offset) : kMaxGpus;
}

NvmlResult copy_text(std::string_view text, char* buffer, std::uint32_t size) {
  if (buffer == nullptr) return NvmlResult::InvalidArgument;
  if (text.size() >= size) return NvmlResult::InsufficientSize;
  *std::copy(text.begin(), text.end(), buffer) = '\0';
  return NvmlResult::Success;
}

}  // namespace berth::emu
