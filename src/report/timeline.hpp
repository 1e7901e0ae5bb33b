// A run as a Trace Event file: GPUs as tracks, jobs as slices; opens in Perfetto.
#pragma once

#include <string>

#include "core/cluster.hpp"
#include "sim/simulator.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// JSON Array Format of the Trace Event specification; nodes are processes, GPUs their threads;
/// microseconds on the trace's clock. Requires: the result has its stretches.
std::string timeline_json(const trace::Trace& trace, const Cluster& cluster, const Result& result);

}  // namespace berth::sim
