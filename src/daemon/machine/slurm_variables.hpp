// What Slurm tells a job in its environment, for jobs that were written for it: scripts with
// #SBATCH lines, and those of the commands in clients/slurm. The one table of it; doors add only
// what was asked of them, which counts.
#pragma once

#include <string>
#include <vector>

#include "core/base/time.hpp"
#include "live/ports.hpp"
#include "shim/order.hpp"

namespace berth::daemon {

/// With which the environment of such a job says so, until it begins: jobs that it submits say so
/// themselves.
inline constexpr const char* kTellsSlurm = "BERTH_SLURM=1";

bool tells_slurm(const std::vector<std::string>& environment);

/// Adds the variables to an order that is otherwise whole. `now`: when the job begins.
void tell_slurm(shim::Order& order, const live::Assignment& assigned, Instant now);

}  // namespace berth::daemon
