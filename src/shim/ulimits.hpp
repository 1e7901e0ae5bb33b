// The limits (`ulimit`) of the process that submits a job, its niceness (`nice`) and its processors
// (`taskset`), which the job has too, as it would behind a plain shell, task-spooler or sbatch.
//
// They travel in the job's environment, as Slurm's do, and the shim takes them out of it:
// `BERTH_ULIMIT=core=0,nofile=65536,stack=unlimited,nice=10,cpus=0-3+8`. A job's hard limits are
// those of berthd's jobs, which bound the soft ones that it asks for; a niceness below berthd's is
// had by those alone who may lower it.
#pragma once

#include <sched.h>
#include <sys/resource.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::shim {

inline constexpr std::string_view kBerthUlimit = "BERTH_ULIMIT";

struct Ulimit {
  __rlimit_resource_t resource;
  rlim_t soft;

  bool operator==(const Ulimit&) const = default;
};

/// How a process shares the processors of the machine.
struct CpuHabits {
  std::optional<int> niceness;
  std::optional<cpu_set_t> cpus;
};

/// The value of BERTH_ULIMIT for this process: its soft limits; its niceness, unless that is 0; and
/// its processors, unless it has all.
std::string own_ulimits();

/// What a value of BERTH_ULIMIT says. Left out: names that are unknown, and what is no number.
std::vector<Ulimit> ulimits_in(std::string_view text);

/// The same of niceness and processors.
CpuHabits cpu_habits_in(std::string_view text);

/// What an environment says.
std::vector<Ulimit> ulimits_of(const std::vector<std::string>& environment);
CpuHabits cpu_habits_of(const std::vector<std::string>& environment);

/// Sets what this process may set. Allocates nothing: for a process about to exec.
void take_ulimits(const std::vector<Ulimit>& ulimits);
void take_cpu_habits(const CpuHabits& habits);

/// Whether a variable `NAME=value` is BERTH_ULIMIT.
bool is_ulimit(std::string_view variable);

}  // namespace berth::shim
