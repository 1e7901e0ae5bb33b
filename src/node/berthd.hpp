// berthd, for the GPUs of this machine; on a node of a Slurm cluster its agent.
#pragma once

namespace berth::node {

/// Returns: the exit status.
int run_berthd(int argc, char** argv);

}  // namespace berth::node
