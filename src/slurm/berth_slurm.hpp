// berth-slurm, for the GPUs of a Slurm cluster.
#pragma once

namespace berth::slurm {

/// Returns: the exit status.
int run_berth_slurm(int argc, char** argv);

}  // namespace berth::slurm
