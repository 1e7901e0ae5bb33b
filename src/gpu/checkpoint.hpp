// Taking a process's memory off its GPUs and putting it back: the driver's checkpoints, behind one
// narrow port. The process is another one, that was not written for this.
//
// A process is running; locked: its driver calls wait; checkpointed: locked, and what it held on
// GPUs is in its host memory. Any call may take long, or never return: callers that cannot wait
// make it from a process that can be killed (daemon/suspend/suspend_helper.hpp).
//
// Thread-safety: calls about one process must not overlap; others may.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "gpu/port.hpp"

namespace berth {

enum class ProcessState : std::uint8_t { Running, Locked, Checkpointed, Failed };

/// Puts what was on one GPU on another of its kind, by UUID.
struct GpuMove {
  std::string from;
  std::string to;

  bool operator==(const GpuMove&) const = default;
};

/// Errors are worded `cuCheckpointProcessLock of process 42: CUDA_ERROR_NOT_READY`. Their code is
/// Conflict where the same call may succeed later (a lock that was not had in time, no room to
/// restore), NotFound for a process that has ended, InvalidArgument where the driver will never do
/// it, and Io for the rest.
class CheckpointPort {
 public:
  CheckpointPort() = default;
  CheckpointPort(const CheckpointPort&) = delete;
  CheckpointPort& operator=(const CheckpointPort&) = delete;
  virtual ~CheckpointPort() = default;

  virtual Expected<ProcessState> state(pid_t process) = 0;
  /// Requires: it runs. It runs on if it cannot be locked within `timeout`.
  virtual Expected<void> lock(pid_t process, Duration timeout) = 0;
  /// Requires: it is locked.
  virtual Expected<void> checkpoint(pid_t process) = 0;
  /// Requires: it is checkpointed. Without moves, on the GPUs where it was; else they name every
  /// one of those. If there is no room, nothing changes.
  virtual Expected<void> restore(pid_t process, std::span<const GpuMove> moves) = 0;
  /// Requires: it is locked.
  virtual Expected<void> unlock(pid_t process) = 0;
};

inline constexpr const char* kCudaLibrary = "libcuda.so.1";

/// The versions of the CUDA interface with these calls, and with restores on other GPUs.
inline constexpr int kCheckpointsSince = 12080;
inline constexpr int kGpuMovesSince = 13000;

/// Opens the CUDA driver, real or emulated. Errors: NotFound naming the library, or what it lacks
/// and which version it has.
struct OpenedCheckpoints {
  std::unique_ptr<CheckpointPort> port;
  int version = 0;  ///< 1000 * major + 10 * minor.
};
Expected<OpenedCheckpoints> open_checkpoints(const std::string& library = kCudaLibrary);

/// Whether the processes on these GPUs can be suspended: where the driver cannot restore on another
/// GPU, only on a machine with one. Returns: why not; "" if they can.
std::string why_no_suspension(std::span<const Device> devices, int version);

}  // namespace berth
