// Which of Slurm's jobs a process of this node belongs to.
//
// By its cgroup where Slurm makes some: only root can take a process out of those. Else by its
// parents, up to a slurmstepd of root's. Never by its environment, which is what its user says.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "daemon/loop/processes.hpp"
#include "gpu/probe.hpp"

namespace berth::node {

/// By the text of /proc/PID/cgroup, of either version: `/slurm/uid_1000/job_42/...` or
/// `/system.slice/slurmstepd.scope/job_42/...`. A user's own groups are further down.
std::optional<std::uint32_t> slurm_job_of_cgroups(std::string_view cgroups);

/// By the title that a slurmstepd gives itself: `slurmstepd: [42.batch]`.
std::optional<std::uint32_t> slurm_job_of_title(std::string_view title);

/// Jobs with a slurmstepd on this node. Reads the names of all processes.
std::set<std::uint32_t> slurm_jobs_here();

/// The slurmstepds of this node. To find them reads the names of all processes, so they are kept
/// from look to look, as are processes that are known to be no job's.
class SlurmSteps {
 public:
  /// Those that still live of the ones that were found.
  const daemon::Shims& living();
  /// Looks for them, unless this process was no job's before.
  bool find_for(pid_t pid);

 private:
  daemon::Shims steps_;
  std::map<pid_t, std::uint64_t> starts_;     ///< Of the steps.
  std::map<pid_t, std::uint64_t> strangers_;  ///< By when they started. For a minute.
  std::chrono::steady_clock::time_point strangers_since_;
};

/// Lives for one look at the processes. Jobs have Slurm's numbers.
class SlurmJobs {
 public:
  SlurmJobs() : steps_(&own_) {}
  /// Requires: `steps` outlives it.
  explicit SlurmJobs(SlurmSteps& steps) : steps_(&steps) {}
  SlurmJobs(const SlurmJobs&) = delete;
  SlurmJobs& operator=(const SlurmJobs&) = delete;

  Owner of(pid_t pid);

 private:
  SlurmSteps own_;
  SlurmSteps* steps_;
  daemon::Shims known_;  ///< Every slurmstepd, once they are asked for.
  std::optional<daemon::Kinship> kinship_;
};

}  // namespace berth::node
