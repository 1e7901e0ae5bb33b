// The process tree below the shim. It is a subreaper: whatever a job leaves behind becomes its
// child, so no process of the job can hide by a double fork or a session of its own.
#pragma once

#include <sys/types.h>

#include <vector>

#include "shim/proc.hpp"

namespace berth::shim {

/// All live descendants of this process. O(processes of the machine): /proc/PID/task/TID/children
/// is not there on every kernel, and may miss some while others end.
std::vector<Stat> live_descendants();

/// SIGTERM and SIGCONT to all of them. The group of `job` first and at once, so that none of it is
/// missed between two forks; 0 if the job's own process has been collected.
void ask_to_end(pid_t job);

/// SIGKILL to all of them, until no new ones turn up.
void kill_all();

}  // namespace berth::shim
