// What PBS, LSF and Grid Engine tell a job in its environment, for scripts that were written for
// them: those whose submission has the variable by which such a queue names the folder that it was
// submitted from. `berth submit` sets it for scripts with #PBS, #BSUB or #$ lines.
#pragma once

#include "daemon/attempts/hints.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

/// The job's number, task and cores, as each such queue calls them.
Variables variables_of_queues(const live::Assignment& assigned);

}  // namespace berth::daemon
