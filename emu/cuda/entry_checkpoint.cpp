// CUDA driver API: checkpoints of other processes, as of CUDA 12.8; on other GPUs as of 13.0.
//
// The caller need not have called cuInit. As with NVIDIA's driver, the process must be the caller's
// user's, or the caller root.
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

#include "emu/cuda/abi.hpp"
#include "emu/state/checkpoint.hpp"
#include "emu/state/region.hpp"

namespace berth::emu {
namespace {

Layout* layout() {
  // Never unmapped: other threads may still be in a call while the process exits.
  static Region* const only = [] {
    const char* path = std::getenv("BERTH_EMU_STATE");
    auto region = Region::open(path == nullptr ? "" : path);
    return region ? std::make_unique<Region>(std::move(*region)).release() : nullptr;
  }();
  return only == nullptr ? nullptr : &only->layout();
}

CudaResult result_of(CheckpointEnd end) {
  switch (end) {
    case CheckpointEnd::Done:
      return CudaResult::Success;
    case CheckpointEnd::WrongState:
      return CudaResult::IllegalState;
    case CheckpointEnd::TimedOut:
      return CudaResult::NotReady;
    case CheckpointEnd::OutOfMemory:
      return CudaResult::OutOfMemory;
    case CheckpointEnd::BadGpus:
    case CheckpointEnd::Gone:
      return CudaResult::InvalidValue;
  }
  std::abort();
}

/// What a call that went wrong in its middle leaves.
void note_failure(Layout& state, std::uint32_t slot, CheckpointCall call, InjectedError error) {
  const bool moves = call == CheckpointCall::Checkpoint || call == CheckpointCall::Restore;
  if (!moves || error.error != static_cast<std::uint16_t>(CudaResult::Unknown)) return;
  state.checkpoints[slot].state.store(static_cast<std::uint32_t>(ProcessState::Failed));
}

/// Runs `body(checkpoints, slot)` for a process that has used a GPU.
template <class Body>
CudaResult on_process(int pid, CheckpointCall call, const Body& body) {
  auto* const state = layout();
  if (state == nullptr) return CudaResult::NotInitialized;
  if (state->header.has_checkpoints == 0) return CudaResult::NotSupported;
  const auto injected = take_fault(*state, call);
  if (injected.error != 0 && !injected.is_late) return static_cast<CudaResult>(injected.error);
  if (pid <= 0) return CudaResult::InvalidValue;
  if (::kill(pid, 0) != 0 && errno == EPERM) return CudaResult::NotPermitted;
  Checkpoints checkpoints(*state);
  const auto slot = checkpoints.slot_of(pid);
  if (!slot) return CudaResult::NotInitialized;
  if (state->header.mig_model != 0) return CudaResult::NotSupported;  // not of MIG instances
  const auto result = body(checkpoints, *slot);
  if (injected.error == 0) return result;
  note_failure(*state, *slot, call, injected);
  return static_cast<CudaResult>(injected.error);
}

bool is_zero(const void* bytes, std::size_t size) {
  const auto* begin = static_cast<const unsigned char*>(bytes);
  return std::all_of(begin, begin + size, [](unsigned char byte) { return byte == 0; });
}

std::optional<std::uint32_t> gpu_of(const Layout& state, const CudaUuid& uuid) {
  for (std::uint32_t gpu = 0; gpu < state.header.gpu_count && gpu < kMaxGpus; ++gpu) {
    const auto& own = state.gpus[gpu].config.uuid;
    if (std::memcmp(own.data(), uuid.bytes, sizeof uuid.bytes) == 0) return gpu;
  }
  return std::nullopt;
}

/// nullopt for GPUs that are not there, or named twice.
std::optional<GpuMoves> moves_of(const Layout& state, const CudaRestoreArgs& args) {
  GpuMoves moves;
  if (args.gpu_pairs_count > kMaxGpus) return std::nullopt;
  if (args.gpu_pairs_count > 0 && args.gpu_pairs == nullptr) return std::nullopt;
  for (unsigned index = 0; index < args.gpu_pairs_count; ++index) {
    const auto from = gpu_of(state, args.gpu_pairs[index].old_uuid);
    const auto to = gpu_of(state, args.gpu_pairs[index].new_uuid);
    if (!from || !to || !moves.emplace(*from, *to).second) return std::nullopt;
  }
  return moves;
}

}  // namespace

extern "C" {

CudaResult cuCheckpointProcessGetState(int pid, int* state) {
  return on_process(pid, CheckpointCall::State, [&](Checkpoints& checkpoints, std::uint32_t slot) {
    if (state == nullptr) return CudaResult::InvalidValue;
    *state = static_cast<int>(checkpoints.state(slot));
    return CudaResult::Success;
  });
}

/// The emulator's process has no thread for this; its first stands for it.
CudaResult cuCheckpointProcessGetRestoreThreadId(int pid, int* thread) {
  return on_process(pid, CheckpointCall::Thread, [&](Checkpoints&, std::uint32_t) {
    if (thread == nullptr) return CudaResult::InvalidValue;
    *thread = pid;
    return CudaResult::Success;
  });
}

CudaResult cuCheckpointProcessLock(int pid, const CudaLockArgs* args) {
  return on_process(pid, CheckpointCall::Lock, [&](Checkpoints& checkpoints, std::uint32_t slot) {
    const bool valid = args == nullptr ||
                       (args->reserved0 == 0 && is_zero(args->reserved1, sizeof args->reserved1));
    if (!valid) return CudaResult::InvalidValue;
    return result_of(checkpoints.lock(slot, args == nullptr ? 0 : args->timeout_millis));
  });
}

CudaResult cuCheckpointProcessCheckpoint(int pid, const CudaReservedArgs* args) {
  return on_process(pid, CheckpointCall::Checkpoint,
                    [&](Checkpoints& checkpoints, std::uint32_t slot) {
                      const bool valid = args == nullptr || is_zero(args, sizeof *args);
                      if (!valid) return CudaResult::InvalidValue;
                      return result_of(checkpoints.checkpoint(slot));
                    });
}

CudaResult cuCheckpointProcessRestore(int pid, const CudaRestoreArgs* args) {
  return on_process(
      pid, CheckpointCall::Restore, [&](Checkpoints& checkpoints, std::uint32_t slot) {
        if (args == nullptr) return result_of(checkpoints.restore(slot, {}));
        const auto moves = moves_of(*layout(), *args);
        const bool valid = moves && is_zero(args->reserved, sizeof args->reserved);
        return valid ? result_of(checkpoints.restore(slot, *moves)) : CudaResult::InvalidValue;
      });
}

CudaResult cuCheckpointProcessUnlock(int pid, const CudaReservedArgs* args) {
  return on_process(pid, CheckpointCall::Unlock, [&](Checkpoints& checkpoints, std::uint32_t slot) {
    const bool valid = args == nullptr || is_zero(args, sizeof *args);
    return valid ? result_of(checkpoints.unlock(slot)) : CudaResult::InvalidValue;
  });
}

}  // extern "C"

}  // namespace berth::emu
