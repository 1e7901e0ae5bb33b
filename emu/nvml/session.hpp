// What the NVML entry points share: the opened state, device handles, checks.
//
// Thread-safety: all functions may be called from any thread. A call in progress keeps the state
// mapped even if another thread shuts NVML down.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "emu/nvml/abi.hpp"
#include "emu/state/ledger.hpp"
#include "emu/state/mig.hpp"
#include "emu/state/region.hpp"

namespace berth::emu {

/// The state NVML has opened; nullptr before nvmlInit and after the last nvmlShutdown.
std::shared_ptr<Region> session();

/// Opens the state named by BERTH_EMU_STATE, or counts one more user of the open one.
NvmlResult open_session();
NvmlResult close_session();

/// Handles are stable for the life of the library.
NvmlDevice handle_of(std::uint32_t gpu);
/// The GPU behind a handle; kMaxGpus when it is none of ours.
std::uint32_t gpu_of(NvmlDevice handle);

/// Copies with a terminating 0. InsufficientSize when it does not fit.
NvmlResult copy_text(std::string_view text, char* buffer, std::uint32_t size);

/// One GPU during one call.
struct GpuCall {
  Layout& layout;
  GpuState& gpu;
  std::uint32_t index;
  std::uint32_t gpu_count;
};

inline bool is_instance(const GpuCall& call) { return call.index >= call.gpu_count; }

/// Runs `body` on the GPU or MIG instance of the handle, after the checks every device function
/// makes.
template <class Body>
NvmlResult on_device(NvmlDevice handle, const Body& body) {
  const auto region = session();
  if (!region) return NvmlResult::Uninitialized;
  const auto index = gpu_of(handle);
  auto& layout = region->layout();
  if (index >= region->gpu_count()) {
    const auto instance = instance_at(layout, index);
    if (!instance || !instance->has_compute) return NvmlResult::InvalidArgument;
  }
  auto& gpu = layout.gpus[index];
  if (gpu.lost.load() != 0) return NvmlResult::GpuIsLost;
  return body(GpuCall{layout, gpu, index, region->gpu_count()});
}

/// `on_device` for functions that answer one value: `body` returns what goes to `*out`.
template <class Value, class Body>
NvmlResult answer(NvmlDevice handle, Value* out, const Body& body) {
  return on_device(handle, [&](const GpuCall& call) {
    if (out == nullptr) return NvmlResult::InvalidArgument;
    *out = body(call);
    return NvmlResult::Success;
  });
}

}  // namespace berth::emu
