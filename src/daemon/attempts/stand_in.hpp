// Numbers for processes on other machines, of which only an agent there knows: below zero, so that
// no process here has them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <string>

namespace berth::daemon {

/// All that are no job's of the resource manager.
inline constexpr pid_t kElsewhere = std::numeric_limits<pid_t>::min();

/// Those of a job of the resource manager.
constexpr pid_t stand_in(std::uint32_t job) { return -static_cast<pid_t>(job & 0x3fff'ffff); }

/// `Slurm job 12`. Requires: a number below zero.
inline std::string name_of_stand_in(pid_t process) {
  if (process == kElsewhere) return "processes outside of Slurm";
  return "Slurm job " + std::to_string(-process);
}

}  // namespace berth::daemon
