// A workload without processes: the same engine, policy and settings as run_live, on a model of the
// emulated GPUs.
//
// The model: a job's memory grows in a line over its ramp, on top of its context; an allocation
// beyond the GPU's capacity kills the job that asks. A step is a kernel, then host work; kernels of
// several tenants on one GPU share it equally, and no one else's host work slows a job. Use is
// measured every 200 ms, as run_live's daemon does. Starts and ends take no time: what a live run
// shows beyond this is what processes, their start and the machine cost.
#pragma once

#include "core/error.hpp"
#include "lab/score.hpp"
#include "lab/ways.hpp"

namespace berth::lab {

/// GPUs as an emulated machine has them.
struct Gpus {
  std::uint32_t count = 2;
  Bytes capacity{0};  ///< Of each: total less what the driver keeps.
  Bytes context{0};   ///< What one process takes beside its allocations.
};

/// What `berthd --emulate 2x24GiB` finds.
Gpus two_cards();

/// Until every job has ended. A pure function of its arguments.
/// Errors: NotFound for an unknown policy or admission; Conflict if jobs are left after an
/// hour.
Expected<Run> simulate(const Workload& workload, const Gpus& gpus, const Way& way);

}  // namespace berth::lab
