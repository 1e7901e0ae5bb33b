// The process tree below the shim. It is a subreaper: whatever a job leaves behind becomes its
// child, so no process of the job can hide by a double fork or a session of its own.
//
// A shim may be root's, and a job chooses when its processes end and what numbers are next. So a
// signal goes to a process that was seen in the tree, or to none: never to a number alone.
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

/// A signal to those of them that are in this process group. Returns: false if there are none.
bool signal_group(pid_t group, int signal);

/// SIGKILL to all of them, until no new ones turn up.
void kill_all();

}  // namespace berth::shim
