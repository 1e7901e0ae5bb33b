// What the driver's checkpoint calls do to a process, from outside of it.
//
// A process is running, locked (its driver calls wait) or checkpointed (locked, and its memory is
// in host memory instead of on its GPUs). Its bytes are in its own memory all along (SparseBytes),
// so that what moves is the ledger's account of them. Everything is done by the process that calls,
// which may die anywhere: a state is set only after what it promises is done, and each call can be
// made again.
//
// Thread-safety: the calls about one process must not overlap, as with a real driver; the process
// itself may do anything meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "emu/emulator.hpp"
#include "emu/state/layout.hpp"

namespace berth::emu {

enum class ProcessState : std::uint32_t { Running, Locked, Checkpointed, Failed };

enum class CheckpointEnd {
  Done,
  WrongState,   // the process is in no state for this call
  TimedOut,     // of a lock; the process runs on
  OutOfMemory,  // of a restore; the process stays checkpointed
  BadGpus,      // GPUs to restore on that are not those it was on, or of another kind
  Gone,         // the process has ended
};

/// For each GPU that the process was on, the one to restore it on.
using GpuMoves = std::map<std::uint32_t, std::uint32_t>;

class Checkpoints {
 public:
  /// Requires: the layout outlives it.
  explicit Checkpoints(Layout& layout) : layout_(layout) {}

  /// The slot of a live process that has used a GPU.
  std::optional<std::uint32_t> slot_of(pid_t pid) const;

  ProcessState state(std::uint32_t slot) const;
  /// Waits for the driver calls in progress. `timeout` in milliseconds; 0: none.
  CheckpointEnd lock(std::uint32_t slot, std::uint32_t timeout);
  /// Waits for the kernels that are queued, then takes its memory off its GPUs.
  CheckpointEnd checkpoint(std::uint32_t slot);
  /// On the same GPUs, unless there are moves; then they name every GPU that it was on.
  CheckpointEnd restore(std::uint32_t slot, const GpuMoves& moves);
  CheckpointEnd unlock(std::uint32_t slot);

 private:
  bool is_gone(std::uint32_t slot, std::uint64_t key) const;
  bool wait_for_process(std::uint32_t slot, std::uint64_t key) const;
  bool finish_work(std::uint32_t slot, std::uint64_t key);
  bool put_back(std::uint32_t slot, const GpuMoves& moves);
  bool are_alike(const CheckpointSlot& own, const GpuMoves& moves) const;
  void set(std::uint32_t slot, ProcessState state);

  Layout& layout_;
};

/// Waits and fails as was injected. Returns: the error to give, at once or, where it is late, after
/// the work; 0 for none.
struct InjectedError {
  std::uint16_t error = 0;
  bool is_late = false;
};
InjectedError take_fault(Layout& layout, CheckpointCall call);

}  // namespace berth::emu
