// Whether a host is one of a Slurm cluster.
#pragma once

#include <string>

namespace berth::cli {

/// Whether jobs are Slurm's here: `path` (as of PATH) has a scontrol, and that has a configuration:
/// `conf` (as of SLURM_CONF), one of Slurm's usual places, or PREFIX/etc of PREFIX/bin/scontrol. A
/// scontrol that is a script does not count, since the one of berth's own Slurm commands is.
bool is_slurm_host(const std::string& path, const std::string& conf);

/// Of this process's environment.
bool is_slurm_host();

}  // namespace berth::cli
