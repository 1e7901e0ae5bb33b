// The process tree below the shim. It is a subreaper: whatever a job leaves behind becomes its
// child, so no process of the job can hide by a double fork or a session of its own.
//
// A shim may be root's, and a job chooses when its processes end and what numbers are next. So a
// signal goes to a process that was seen in the tree, or to none: never to a number alone.
#pragma once

#include <sys/types.h>

#include <set>
#include <span>
#include <vector>

#include "shim/proc.hpp"
#include "shim/record.hpp"

namespace berth::shim {

/// All live descendants of a shim but the caller. O(processes of the machine):
/// /proc/PID/task/TID/children is not there on every kernel, and may miss some while others end.
std::vector<Stat> live_descendants(pid_t shim);

/// Those of these processes that live, and all that live below them, each once. O(processes of the
/// machine).
std::vector<Stat> live_with_all_below(std::span<const Process> tops);

/// A signal to exactly this process, and to none that has its number since.
void send_to(const Stat& seen, int signal);

/// The job of a shim: `process` is its own process, 0 if that has been collected, for its number
/// may be another's then.
struct Tree {
  pid_t shim;
  pid_t process;
};

/// SIGTERM and SIGCONT to all of a tree. The group of the job's process first and at once, so that
/// none of it is missed between two forks.
void ask_to_end(Tree tree);

/// True if some process of a tree, of these process groups unless null, takes this signal.
bool any_takes(Tree tree, int signal, const std::set<pid_t>* groups = nullptr);
/// True if some process of a tree has a handler for this signal, however young it is.
bool any_hears(Tree tree, int signal);
/// A signal, and SIGCONT, to those that take it. It would end the others, such as a shell that
/// waits for the program which hears it.
void tell(Tree tree, int signal, const std::set<pid_t>* groups = nullptr);

/// A signal to those of a tree that are in this process group. Returns: false if there are none.
bool signal_group(Tree tree, pid_t group, int signal);

/// A signal to the group of the job's process.
void signal_job(Tree tree, int signal);

/// SIGKILL to all below this process, until no new ones turn up. All are stopped first: what is
/// killed while others fork makes room for more of them.
void kill_all();

/// How many live below this process, if all of them have SIGKILL waiting for them or are in the
/// middle of their end: they hang in the kernel, and do nothing any more but end once it lets them
/// go. 0 if one is not so far.
int hanging();

}  // namespace berth::shim
