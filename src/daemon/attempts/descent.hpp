// The processes below a job's shim, by /proc now.
//
// What is below one process costs what is there, not what the machine runs. Every answer is of a
// moment ago: a process whose parent ends meanwhile can be missed, and a later look finds it below
// the shim, which is a subreaper. So a caller that must meet all looks again until nothing is new.
// What a shim made for itself is none of its job's.
#pragma once

#include <optional>
#include <vector>

#include "shim/record.hpp"

namespace berth::daemon {

/// From parent to child, by the kernel's lists of children. Nothing where the kernel has none
/// (CONFIG_PROC_CHILDREN). O(threads of what is below) reads.
std::optional<std::vector<shim::Process>> listed_below(pid_t top);

/// The same from child to parent, for every process of the machine. O(processes of the machine).
std::vector<shim::Process> found_below(pid_t top);

/// The first where the kernel can, else the second.
std::vector<shim::Process> processes_below(pid_t top);

}  // namespace berth::daemon
