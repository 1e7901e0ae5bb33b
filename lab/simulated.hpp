// A trace without processes: the simulator of `berth sim`, on a model of the machine of run_live.
//
// The model (doc/simulator.md): memory by the jobs' curves, kernels that share a GPU equally
// (`--share duty`), a probe every 200 ms, and a start that takes what one takes live. What policies
// know is what berthd's know: no run times but those they learn.
#pragma once

#include <cstdint>

#include "core/base/error.hpp"
#include "lab/score.hpp"
#include "lab/ways.hpp"

namespace berth::lab {

/// From a launch to a job's first step, of berth-load on an emulated GPU, as measured: the run
/// time of jobs of 0.2 and 2 s alone, less 0.36 ms for every step.
inline constexpr Duration kStartLatency{5'000};

/// Until every job has ended. A pure function of its arguments. `interference_percent` is that of
/// the emulated GPUs, `--share duty:N%`. Requires: `gpus` is as as_emulated() says. Errors:
/// NotFound for an unknown policy; as sim::simulate().
Expected<Run> run_simulated(const trace::Trace& trace, const Cluster& gpus, const Way& way,
                            std::int64_t interference_percent = 0);

}  // namespace berth::lab
