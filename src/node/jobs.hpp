// Which of Slurm's jobs a process of this node belongs to.
//
// By its cgroup where Slurm makes some: only root can take a process out of those. Else by its
// parents, up to a slurmstepd of root's. Never by its environment, which is what its user says.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/loop/processes.hpp"
#include "gpu/probe.hpp"

namespace berth::node {

/// By the text of /proc/PID/cgroup, of either version: `/slurm/uid_1000/job_42/...` or
/// `/system.slice/slurmstepd.scope/job_42/...`. A user's own groups are further down.
std::optional<std::uint32_t> slurm_job_of_cgroups(std::string_view cgroups);

/// By the title that a slurmstepd gives itself: `slurmstepd: [42.batch]`.
std::optional<std::uint32_t> slurm_job_of_title(std::string_view title);

/// Lives for one look at the processes. Jobs have Slurm's numbers.
class SlurmJobs {
 public:
  Owner of(pid_t pid);

 private:
  std::optional<daemon::Shims> steps_;  ///< Every slurmstepd, once they are asked for.
  std::optional<daemon::Kinship> kinship_;
};

}  // namespace berth::node
