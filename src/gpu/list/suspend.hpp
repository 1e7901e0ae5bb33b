// berth-gpu-list's flags --suspend and --resume: one process taken off its GPUs, or put back.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/base/error.hpp"

namespace berth {

enum class Direction { Suspend, Resume };

/// Locks and checkpoints the process, or restores and unlocks it, and prints
/// `suspended 42 lock-us 300 copy-us 120000`. Errors: the driver's; a process that could be locked
/// and not checkpointed is unlocked again.
Expected<void> move_process(const std::string& cuda, pid_t process, Direction direction);

}  // namespace berth
