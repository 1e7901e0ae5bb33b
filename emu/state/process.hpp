// Which process owns which slot, and whether it still lives.
//
// A process is named by pid and start time, so that a reused pid is another process. The next
// listing, allocation that does not fit, or waiter sees a death, so a process need not clean up.
// Processes must share one pid namespace with a readable /proc.
// Thread-safety: all functions may race with each other in any number of processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "emu/state/layout.hpp"

namespace berth::emu {

/// Names a process: pid in the upper half, the low half of its start time in the lower. Never 0.
using ProcessKey = std::uint64_t;

/// The key of a live process; nullopt when there is none with this pid.
std::optional<ProcessKey> key_of(pid_t pid);

inline pid_t pid_of(ProcessKey key) { return static_cast<pid_t>(key >> 32); }

/// False once the process has exited, even while its parent has not collected it yet.
bool is_alive(ProcessKey key);

/// True while a signal keeps the process stopped.
bool is_stopped(pid_t pid);

/// Takes a free slot for `key`, after returning those of the dead. nullopt: all are in use.
std::optional<std::uint32_t> claim_slot(Layout& layout, ProcessKey key);

/// Ends the work and returns the memory and the slot of every dead process. Returns how many.
std::uint32_t reap_dead(Layout& layout);

/// `reap_dead` for frequent callers: one process at a time does it, ten times a second. `now` is
/// CLOCK_MONOTONIC.
void patrol(Layout& layout, std::uint64_t now_nanoseconds);

/// Returns what `key` holds. For a process that has just begun: exec leaves pid and start time as
/// they were, but the driver of the program before it is gone.
void release_slots_of(Layout& layout, ProcessKey key);

}  // namespace berth::emu
